/* Which vectors the processor and the system under it have, asked of the processor: not all compilers'
   libraries answer (those of zig say no to everything). */

#ifndef TFX_PROCESSOR_H
#define TFX_PROCESSOR_H

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

enum { VECTORS_AVX2 = 1, VECTORS_AVX512 = 2 };

static int vectors_asked_for(void) {
  enum { FMA = 1 << 12, SAVES = 1 << 27 };                     /* of leaf 1, register c */
  enum { AVX2 = 1 << 5, F = 1 << 16, DQ = 1 << 17, BW = 1 << 30 }; /* of leaf 7, register b */
  const unsigned vl = 1u << 31;
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  if (!(c & FMA) || !(c & SAVES)) return 0;
  /* What the system saves of registers where it changes threads. */
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & AVX2) || (low & 0x6) != 0x6) return 0;
  const unsigned wide = F | DQ | BW | vl;
  return (b & wide) == wide && (low & 0xe6) == 0xe6 ? VECTORS_AVX2 | VECTORS_AVX512 : VECTORS_AVX2;
}

/* Whether there are vectors of a kind. Asking takes microseconds on a virtual machine: it is done once. */
static inline int has_vectors(int kind) {
  enum { ASKED = 4 };
  static _Atomic int known;
  int found = atomic_load_explicit(&known, memory_order_relaxed);
  if (!found) {
    found = vectors_asked_for() | ASKED;
    atomic_store_explicit(&known, found, memory_order_relaxed);
  }
  return (found & kind) != 0;
}
#endif

#endif
