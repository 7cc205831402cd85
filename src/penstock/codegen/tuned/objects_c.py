"""What tuned kernels in C share: arguments, Python's objects as the stable ABI shows them, and hashes of strings."""

from __future__ import annotations

OBJECTS = r"""
extern i64 PyList_Size(void *);
extern void *PyList_GetItem(void *, i64);
extern void *PyDict_GetItem(void *, void *);
extern i64 PyBytes_Size(void *);
extern char *PyBytes_AsString(void *);
extern void *PyBytes_FromStringAndSize(const char *, i64);
extern void *PyLong_FromLongLong(i64);
extern void Py_DecRef(void *);
/* An argument as a number, or as an address. */
#define INT(i) PyLong_AsLongLong(given[i])
#define AT(i) ((void *)(intptr_t)PyLong_AsLongLong(given[i]))
/* What takes more steps than this releases Python's lock. */
#define LONG 16384
"""

FINGERPRINTS = (
    OBJECTS
    + r"""
/* FarmHash's 64-bit fingerprints: the formulas of ops/farmhash.py. */
#define K0 0xC3A5C85C97CB3127u
#define K1 0xB492B66FBE98F273u
#define K2 0x9AE16A3B2F90404Fu
FN u64 word(const u8 *p) { u64 w; memcpy(&w, p, 8); return w; }
FN u64 half(const u8 *p) { u32 w; memcpy(&w, p, 4); return w; }
FN u64 rotated(u64 x, int by) { return x >> by | x << (64 - by); }
FN u64 mixed(u64 x) { return x ^ x >> 47; }
FN u64 hash_16(u64 u, u64 v, u64 mul) {
  const u64 a = mixed((u ^ v) * mul);
  return mixed((v ^ a) * mul) * mul;
}
FN void weak(const u8 *p, u64 a, u64 b, u64 *to) {
  a += word(p);
  const u64 total = a + word(p + 8) + word(p + 16);
  b = rotated(b + a + word(p + 24), 21) + rotated(total, 44);
  to[0] = total + word(p + 24), to[1] = b + a;
}
static u64 fingerprint_of_long(const u8 *p, u64 n) {
  const u8 *const end = p + n;
  u64 x = 81, y = x * K1 + 113, z = mixed(y * K2 + 113) * K2, v[2] = {0, 0}, u[2] = {0, 0}, other;
  x = x * K2 + word(p);
  for (u64 block = 0; block < (n - 1) / 64; block++, p += 64) {
    x = rotated(x + y + v[0] + word(p + 8), 37) * K1 ^ u[1];
    y = rotated(y + v[1] + word(p + 48), 42) * K1 + v[0] + word(p + 40);
    z = rotated(z + u[0], 33) * K1;
    weak(p, v[1] * K1, x + u[0], v);
    weak(p + 32, z + u[1], y + word(p + 16), u);
    other = x, x = z, z = other;
  }
  const u64 mul = K1 + ((z & 0xFF) << 1), rest = u[0] + ((n - 1) & 63);
  p = end - 64;
  v[0] += rest, u[0] = rest + v[0];
  x = rotated(x + y + v[0] + word(p + 8), 37) * mul ^ u[1] * 9;
  y = rotated(y + v[1] + word(p + 48), 42) * mul + v[0] * 9 + word(p + 40);
  z = rotated(z + u[0], 33) * mul;
  weak(p, v[1] * mul, x + u[0], v);
  weak(p + 32, z + u[1], y + word(p + 16), u);
  other = x, x = z, z = other;
  return hash_16(hash_16(v[0], u[0], mul) + mixed(y) * K0 + z, hash_16(v[1], u[1], mul) + x, mul);
}
static u64 fingerprint(const u8 *p, u64 n) {
  const u8 *const end = p + n;
  const u64 mul = K2 + 2 * n;
  if (n > 64) return fingerprint_of_long(p, n);
  if (n > 16) {
    u64 a = word(p) * (n > 32 ? K2 : K1), b = word(p + 8), c = word(end - 8) * mul, d = word(end - 16) * K2;
    const u64 y = rotated(a + b, 43) + rotated(c, 30) + d;
    u64 z = a + rotated(b + K2, 18) + c;
    if (n <= 32) return hash_16(y, z, mul);
    z = hash_16(y, z, mul);
    const u64 e = word(p + 16) * mul, f = word(p + 24);
    const u64 g = (y + word(end - 32)) * mul, h = (z + word(end - 24)) * mul;
    return hash_16(rotated(e + f, 43) + rotated(g, 30) + h, e + rotated(f + a, 18) + g, mul);
  }
  if (n >= 8) {
    const u64 a = word(p) + K2, b = word(end - 8);
    return hash_16(rotated(b, 37) * mul + a, (rotated(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return hash_16(n + (half(p) << 3), half(end - 4), mul);
  if (!n) return K2;
  const u64 y = p[0] + ((u64)p[n >> 1] << 8), z = n + ((u64)p[n - 1] << 2);
  return mixed(y * K2 ^ z * K0) * K2;
}
FN u64 fingerprint_cat(u64 first, u64 second) {
  const u64 cat = 0xC6A4A7935BD1E995u;
  return mixed(mixed((first ^ cat ^ mixed(second * cat) * cat) * cat) * cat);
}
/* Those of a list of bytes; 0 and an exception for other objects. */
static int fingerprints(void *texts, u64 *to) {
  const i64 count = PyList_Size(texts);
  for (i64 i = 0; i < count; i++) {
    void *const text = PyList_GetItem(texts, i);
    const i64 size = PyBytes_Size(text);
    if (size < 0) return 0;
    to[i] = fingerprint((const u8 *)PyBytes_AsString(text), (u64)size);
  }
  return 1;
}
"""
)
