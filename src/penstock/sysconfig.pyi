# Written by `python -m penstock.api.generate`.
from penstock.load_library import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from penstock.load_library import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from penstock.load_library import get_compile_flags as get_compile_flags
from penstock.load_library import get_include as get_include
from penstock.load_library import get_lib as get_lib
from penstock.load_library import get_link_flags as get_link_flags

__all__ = [
    "CXX11_ABI_FLAG", "MONOLITHIC_BUILD", "get_compile_flags", "get_include", "get_lib", "get_link_flags"
]
