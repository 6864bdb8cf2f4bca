from tokbench.special_tokens import *  # noqa: F403
from tokbench.special_tokens import SpecialTokenFinder, check_special_tokens  # noqa: F401
