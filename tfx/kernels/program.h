/* Programs of element-wise loops, and what runs them. Nothing here knows of ONNX Runtime.

   A program is a list of 64-bit integers, which ``program_read`` checks whole: one that it accepts
   cannot make ``program_run`` touch memory outside of the tensors that it is given, if these have the
   sizes that their shapes say. Layout:

     format, inputs, outputs, temporaries, constants, loops
                                                    the counts, after the number of the format
     inputs times: type                             of the tensors that it is given
     outputs times: type
     temporaries times: type, place                 tensors that end with the run
     constants times: bits                          of one number each, in the low bytes
     loops times: 0, and
       rank, units, sources, results, steps
       sources times: tensor, form, unit
       results times: output
       steps times: instruction, to, first, second, third
     or 1, and
       operation, tensor, axes, keeps, output
     or 2, and
       left, right, transposes, output
     or 3, and
       tensor, index, output
     or 4, and
       tensor, axes, their sizes, begin, axes of the result, their sizes, their strides, output
     or 5, and
       tensor, axes of the result, their sizes, begin, axes, their sizes, their strides, fill, output
     or 6, and
       axis, count, tensors, output
     or 7, and
       operation, matrix, right-hand sides, output

   A loop goes over a box of elements, whose sizes are those of its sources broadcast to one another.
   It takes a tile of 512 elements after the other through all of its steps, so what stands between
   the steps stays in the processor's first cache. A tensor is an input, or the output ``k`` of an
   earlier loop as ``inputs + k``; temporaries count as outputs behind the others, and those of one
   place share its memory: writing one ends the one before. The form of a source says whether it has the sizes of the box (0),
   or may have an axis of size 1 where the box has more (1), and is then spread out, tile by tile, to
   the registers that begin with its unit, which no step writes that stands before one that reads it.

   Another kind of a loop reduces a tensor over axes, a bit each, which stay as axes of size 1 if it
   keeps them: 0 sum, 1 mean, 2 maximum, 3 minimum. The third kind multiplies matrices, the left one
   transposed if bit 0 is set, the right one if bit 1 is; axes in front of the last two have the same
   sizes, or the right one has none and the left one is not transposed.

   The others copy: a row along the first axis, by one index, which is kept as an axis of size 1 if it
   has one; a part of a tensor whose sizes are known, from an element on, by strides in elements; a tensor
   to such a part of a larger one, filled with the bits of a number elsewhere; and tensors that are joined
   along an axis.

   The last kind computes with matrices, which are the last two axes of a tensor: 0 Cholesky's factor,
   solutions with a lower 1 or upper triangle 2, or with any matrix 3, a decomposition with exchanged rows 4,
   the numbers of these 5, and the sign of their order 6; the values 7 and vectors 8 of a symmetric matrix, the
   left vectors times singular values 9 of one that is not wide, these 10 and the right vectors 11; an orthogonal
   matrix 12 and an upper triangle 13, both of as many columns or rows as the shorter side has, and of as many as
   there are rows 14, 15. Without right-hand sides the matrix stands again.

   An operand is ``kind * 65536 + number``: a register, which begins with a unit of 2 KiB; a source of
   the loop; a constant; and, where a step writes, a result of the loop. */

#ifndef TFX_PROGRAM_H
#define TFX_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_FORMAT = 8 };
enum { TILE = 512, UNIT_BYTES = 2048, MAX_UNITS = 48, MAX_RANK = 8 };
enum { MAX_GIVEN = 1024, MAX_MADE = 8192, MAX_TENSORS = MAX_GIVEN + MAX_MADE };
/* MAX_STREAMS: of the sources of a loop, and of its results. */
enum { MAX_LOOPS = 8192, MAX_STREAMS = 1024, MAX_STEPS = 4096, MAX_CONSTANTS = 1024 };
enum { MAX_JOINED = 16 };
enum { REGISTER = 0, SOURCE = 1, CONSTANT = 2, RESULT = 3 };

typedef struct Program Program;

/* A tensor that a program is given, or writes. Types are those of ONNX: 1 is float32... */
typedef struct {
  void *data;
  int rank;
  int64_t sizes[MAX_RANK];
} Tensor;

/* What a run needs from whoever runs it; each returns 0, or another number to end the run with. */
typedef struct {
  /* Make an output with the sizes given, and fill in its data. */
  int (*make_output)(void *context, size_t output, Tensor *tensor);
  /* Call ``part`` for 0, 1, ... ``count - 1``, perhaps in several threads. */
  int (*in_parallel)(void *context, void (*part)(void *data, size_t index), size_t count,
                     void *data);
  void *context;
} Host;

/* A program, or NULL, with a sentence on what is wrong with it in ``problem``. */
Program *program_read(const int64_t *words, size_t count, char *problem, size_t size);
void program_free(Program *program);
size_t program_inputs(const Program *program);
size_t program_outputs(const Program *program); /* without temporaries */
int program_input_type(const Program *program, size_t input);

/* Run on tensors of the program's types. Returns 0, or what a function of the host returned, or -1
   with a sentence in ``problem``: sizes that cannot be broadcast. */
int program_run(const Program *program, const Tensor *inputs, const Host *host, char *problem,
                size_t size);

/* A program as the body of a loop. Its inputs are the number of the iteration, ``carried`` values and
   others; its outputs whether another iteration follows, if it ``tests`` that, then the carried values
   after the iteration, which have the types and sizes that they had before, then what is ``collected``. */
typedef struct {
  size_t carried, collected;
  int tests;
} Repetition;

/* Run iterations from ``*at`` on, as long as it is below ``limit`` and ``*goes_on`` is not 0, but only
   for some milliseconds: whoever calls sees from both whether it has to call again. ``inputs[0]`` need
   not be given. The outputs of ``host`` are the carried values, from 0, then the rows that were
   collected: more than iterations have run, perhaps, but as many in every call of a loop. */
int program_repeat(const Program *program, Repetition loop, const Tensor *inputs, int64_t limit,
                   int64_t *at, unsigned char *goes_on, const Host *host, char *problem,
                   size_t size);

/* NULL, or why a program cannot be the body of such a loop. */
const char *program_refuses(const Program *program, Repetition loop);

#endif
