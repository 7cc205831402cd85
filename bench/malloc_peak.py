"""The most memory that malloc has given out at once, of all libraries of a process: torch, oneDNN, NumPy, and compiled
functions.

A small library with malloc's names counts, and is loaded before all others (LD_PRELOAD). It needs glibc and a C
compiler. What is asked of the system without malloc is not seen.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

_C = r"""
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), __libc_free(void *);
static atomic_long now, peak;
static void *added(void *p) {
  if (!p) return p;
  const long size = (long)malloc_usable_size(p), total = atomic_fetch_add(&now, size) + size;
  long before = atomic_load(&peak);
  while (total > before && !atomic_compare_exchange_weak(&peak, &before, total)) ;
  return p;
}
static void taken(void *p) {
  if (p) atomic_fetch_sub(&now, (long)malloc_usable_size(p));
}
void *malloc(size_t size) { return added(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return added(__libc_calloc(count, size)); }
void *memalign(size_t align, size_t size) { return added(__libc_memalign(align, size)); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
void free(void *p) { taken(p); __libc_free(p); }
void *realloc(void *p, size_t size) {
  taken(p);
  void *const found = __libc_realloc(p, size);
  return added(found ? found : size ? p : 0) && found ? found : 0;
}
int posix_memalign(void **to, size_t align, size_t size) {
  void *const p = memalign(align, size);
  if (!p) return ENOMEM;
  *to = p;
  return 0;
}
long malloc_now(void) { return atomic_load(&now); }
long malloc_peak(void) { return atomic_load(&peak); }
void malloc_restart(void) { atomic_store(&peak, atomic_load(&now)); }
"""


def counting(folder: Path) -> dict[str, str]:
    """The environment of a process in which `peak_of` works; its library is made in `folder`."""
    source, library = folder / "count.c", folder / "count.so"
    source.write_text(_C)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def peak_of(run: Callable[[], Any]) -> int:
    """The most bytes that malloc has given out while `run` ran, beyond those before."""
    library = ctypes.CDLL(None)
    now, peak = library.malloc_now, library.malloc_peak
    now.restype = peak.restype = ctypes.c_long
    gc.collect()
    before = now()
    library.malloc_restart()
    run()
    return int(peak() - before)
