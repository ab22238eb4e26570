/* Prints whether the processor has vectors of 256 and of 512 bits. */
#include "processor.h"

#include <stdio.h>

int main(void) {
  printf("%d %d\n", has_vectors(VECTORS_AVX2), has_vectors(VECTORS_AVX512));
  return 0;
}
