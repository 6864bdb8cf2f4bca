"""What several tests share: texts to try, kernels by name, counting and learning in one call."""
