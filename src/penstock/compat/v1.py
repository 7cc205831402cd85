"""`import penstock.compat.v1` is `import penstock`: the same module, not a copy."""

import sys

sys.modules[__name__] = sys.modules["penstock"]
