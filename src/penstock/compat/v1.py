"""`import penstock.compat.v1` is `import penstock`, and its modules are Penstock's: the same ones, not copies."""

import sys

from penstock.api.alias import SameModules

sys.modules[__name__] = sys.modules["penstock"]
sys.meta_path.insert(0, SameModules(__name__, "penstock"))
