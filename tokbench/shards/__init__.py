"""Token shards: a corpus as ids in files that a training loop maps into memory."""
