"""`Source`: the text of a C function, the text it shares with others, and which sources form one file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.codegen.c.first_run import Call
from penstock.codegen.c.preamble import c_preamble

_SHARED = r"""
#if defined(__GNUC__)
#define WEAK __attribute__((weak))
#define APART static __attribute__((noinline))
#define ALIGNED __attribute__((aligned(64)))
#else
#define WEAK
#define APART static
#define ALIGNED
#endif
/* Of Python's stable ABI, declared here so that its headers need not be there. */
extern i64 PyLong_AsLongLong(void *);
extern void Py_IncRef(void *);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);
extern char _Py_NoneStruct;
struct method { const char *name; void *(*call)(void *, void *const *, i64); int flags; const char *doc; };
enum { METH_FASTCALL = 0x80 };

extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned) WEAK;
extern int omp_get_thread_num(void) WEAK;
extern int omp_get_num_threads(void) WEAK;

APART void *tail(void *to, const void *from, i64 used, i64 whole) {
  memcpy(to, from, used);
  memset((char *)to + used, 0, whole - used);
  return to;
}
#define REPEAT(T) \
APART void *repeat_##T(T *to, const T *from, i64 at, int count, i64 inner, i64 times) { \
  i64 block = at / (inner * times), time = at / inner % times, place = at % inner; \
  for (int done = 0; done < count;) { \
    const T *const row = from + block * inner; \
    const i64 left = inner == 1 ? times - time : inner - place; \
    const int end = left < count - done ? done + (int)left : count; \
    if (inner == 1) { \
      time += end - done; \
      for (; done < end; done++) to[done] = row[0]; \
    } else { \
      for (; done < end; done++, place++) to[done] = row[place]; \
      if (place == inner) place = 0, time++; \
    } \
    if (time == times) time = 0, block++; \
  } \
  return to; \
}
REPEAT(f32) REPEAT(f64) REPEAT(i32) REPEAT(i64) REPEAT(u8)
"""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a function. Its name is derived from its text, so equal sources are compiled once.

    In C `name` is a PyMethodDef; its function takes ints: the number of elements, the number of threads, the address of
    the layout (see `program.Fit`), then the addresses of the inputs and outputs.

    first: a call that can do no harm.
    """

    name: str
    text: str
    support: str = ""
    """The functions that it calls."""
    flags: tuple[str, ...] = ()
    """Compiler flags in addition to the usual ones."""
    first: Call | None = field(default=None, compare=False)

    @classmethod
    def named_after_itself(
        cls, text: str, shared: str | None = None, support: str = "", flags: tuple[str, ...] = ()
    ) -> Source:
        """`text` with NAME replaced by a name made of its contents. `shared`: the text that precedes it, by default
        that of C sources."""
        shared = shared_text() if shared is None else shared
        name = "cluster_" + hashlib.sha256("\n".join([shared, support, *flags, text]).encode()).hexdigest()[:24]
        return cls(name, text.replace("NAME", name), support, flags)


def shared_text() -> str:
    """The text that precedes the sources of a file."""
    return c_preamble() + _SHARED


def groups(sources: Iterable[Source]) -> list[list[Source]]:
    """The sources by file: those of a file call the same functions and have the same flags.

    Separate files keep definitions of the one from being used by the other.
    """
    found: dict[tuple[str, tuple[str, ...]], list[Source]] = {}
    for source in sources:
        found.setdefault((source.support, source.flags), []).append(source)
    return list(found.values())


def file_of(group: Sequence[Source]) -> str:
    """The text of the file of a group."""
    return "".join([shared_text(), group[0].support, *(source.text for source in group)])
