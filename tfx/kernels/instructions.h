/* The table of instructions: what there is, on which types. Everything else reads it from here, the
   compiler of programs in Python included.

   ONE(name, result, operand, expression of a)
   EACH(the same, of which compilers make no vector code)
   OWN(name, result, operand), whose loop is written by hand
   TWO(name, result, operand, operand, expression of a and b)
   ANY(the same, where the operands may be exchanged)
   EACH_OF_TWO(the same, of which compilers make no vector code)
   QUOTIENT(likewise, and the run fails if the second operand is 0)
   THREE(name, result, operand, operand, operand, expression of a, b and c)

   Types: f32 f64 i32 i64 u32 u64 u8 b8 (a truth value in a byte). Sums, differences and products of
   integers wrap around. A comparison the other way around is one with its operands exchanged. */

#define FLOAT_INSTRUCTIONS(T)                                                                  \
  ANY(Add, T, T, T, a + b)                                                                     \
  TWO(Sub, T, T, T, a - b)                                                                     \
  ANY(Mul, T, T, T, a *b)                                                                      \
  TWO(Div, T, T, T, a / b)                                                                     \
  ANY(Max, T, T, T, ((a > b) | (a != a)) ? a : b)                                              \
  ANY(Min, T, T, T, ((a < b) | (a != a)) ? a : b)                                              \
  ONE(Neg, T, T, -a)                                                                           \
  ONE(Sign, T, T, a > 0 ? (T)1 : a < 0 ? (T) - 1 : a)                                          \
  ONE(Relu, T, T, a < 0 ? (T)0 : a)                                                            \
  ONE(Reciprocal, T, T, 1 / a)                                                                 \
  ONE(Sqrt, T, T, square_root_##T(a))                                                          \
  ONE(Abs, T, T, magnitude_##T(a))                                                             \
  EACH(Tan, T, T, library_##T(tan, a))                                                          \
  EACH(Asin, T, T, library_##T(asin, a))                                                        \
  EACH(Acos, T, T, library_##T(acos, a))                                                        \
  EACH(Atan, T, T, library_##T(atan, a))                                                        \
  EACH(Sinh, T, T, library_##T(sinh, a))                                                        \
  EACH(Cosh, T, T, library_##T(cosh, a))                                                        \
  EACH(Asinh, T, T, library_##T(asinh, a))                                                      \
  EACH(Acosh, T, T, library_##T(acosh, a))                                                      \
  EACH(Atanh, T, T, library_##T(atanh, a))                                                      \
  EACH_OF_TWO(Pow, T, T, T, power_##T(a, b))                                                           \
  EACH_OF_TWO(Rem, T, T, T, remainder_##T(a, b))                                                       \
  ONE(IsNaN, b8, T, a != a)

#define FUNCTIONS(MANY, T)                                                                     \
  MANY(Exp, T, T, exponential_##T(a))                                                          \
  MANY(Log, T, T, logarithm_##T(a))                                                            \
  MANY(Tanh, T, T, tangent_##T(a))                                                             \
  MANY(Sigmoid, T, T, logistic_##T(a))                                                         \
  MANY(Erf, T, T, error_##T(a))

#define WRAPPING_INSTRUCTIONS(T, U)                                                            \
  ANY(Add, T, T, T, (T)((U)a + (U)b))                                                          \
  TWO(Sub, T, T, T, (T)((U)a - (U)b))                                                          \
  ANY(Mul, T, T, T, (T)((U)a * (U)b))

#define INTEGER_INSTRUCTIONS(T, U)                                                             \
  WRAPPING_INSTRUCTIONS(T, U)                                                                  \
  ANY(Max, T, T, T, a > b ? a : b)                                                             \
  ANY(Min, T, T, T, a < b ? a : b)                                                             \
  ONE(Neg, T, T, (T)(0 - (U)a))                                                                \
  ONE(Abs, T, T, a < 0 ? (T)(0 - (U)a) : a)                                                    \
  QUOTIENT(Div, T, T, T, b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : (T)(a / b))                    \
  QUOTIENT(Rem, T, T, T, b == 0 || b == -1 ? 0 : (T)(a % b))                                   \
  QUOTIENT(Mod, T, T, T, b == 0 || b == -1 ? 0 : (T)(a % b + (a % b && (a ^ b) < 0 ? b : 0)))  \
  ONE(Sign, T, T, (T)((a > 0) - (a < 0)))

#define BIT_INSTRUCTIONS(T)                                                                    \
  ANY(BitwiseAnd, T, T, T, a &b)                                                               \
  ANY(BitwiseOr, T, T, T, a | b)                                                               \
  ANY(BitwiseXor, T, T, T, a ^ b)                                                              \
  ONE(BitwiseNot, T, T, (T)~a)

/* A shift by the width or more gives 0, as ONNX Runtime's kernels do where C says nothing. */
#define SHIFTS(U, WIDTH)                                                                       \
  TWO(ShiftLeft, U, U, U, b < WIDTH ? (U)(a << (b & (WIDTH - 1))) : 0)                         \
  TWO(ShiftRight, U, U, U, b < WIDTH ? (U)(a >> (b & (WIDTH - 1))) : 0)

#define COMPARISONS(T)                                                                         \
  TWO(Less, b8, T, T, a < b)                                                                   \
  TWO(LessOrEqual, b8, T, T, a <= b)                                                           \
  ANY(Equal, b8, T, T, a == b)                                                                 \
  THREE(Where, T, b8, T, T, a ? b : c)                                                         \
  ONE(Cast, b8, T, a != 0)                                                                     \
  ONE(Cast, T, b8, (T)a)

#define UNSIGNED_COMPARISONS(U)                                                                \
  TWO(Less, b8, U, U, a < b)                                                                   \
  TWO(LessOrEqual, b8, U, U, a <= b)                                                           \
  ANY(Equal, b8, U, U, a == b)                                                                 \
  THREE(Where, U, b8, U, U, a ? b : c)

#define INSTRUCTIONS                                                                           \
  FLOAT_INSTRUCTIONS(f32)                                                                      \
  FLOAT_INSTRUCTIONS(f64)                                                                      \
  FUNCTIONS(ONE, f32)                                                                          \
  FUNCTIONS(EACH, f64)                                                                         \
  WRAPPING_INSTRUCTIONS(u32, u32)                                                              \
  WRAPPING_INSTRUCTIONS(u64, u64)                                                              \
  INTEGER_INSTRUCTIONS(i32, u32)                                                               \
  INTEGER_INSTRUCTIONS(i64, u64)                                                               \
  BIT_INSTRUCTIONS(i32)                                                                        \
  BIT_INSTRUCTIONS(i64)                                                                        \
  BIT_INSTRUCTIONS(u32)                                                                        \
  BIT_INSTRUCTIONS(u64)                                                                        \
  SHIFTS(u32, 32)                                                                              \
  SHIFTS(u64, 64)                                                                              \
  COMPARISONS(f32)                                                                             \
  COMPARISONS(f64)                                                                             \
  COMPARISONS(i32)                                                                             \
  COMPARISONS(i64)                                                                             \
  UNSIGNED_COMPARISONS(u32)                                                                    \
  UNSIGNED_COMPARISONS(u64)                                                                    \
  ANY(And, b8, b8, b8, a &b)                                                                   \
  ANY(Or, b8, b8, b8, a | b)                                                                   \
  ANY(Xor, b8, b8, b8, a ^ b)                                                                  \
  ANY(Equal, b8, b8, b8, a == b)                                                               \
  ONE(Not, b8, b8, !a)                                                                         \
  THREE(Where, b8, b8, b8, b8, a ? b : c)                                                      \
  ONE(Cast, u8, b8, a)                                                                         \
  ONE(Cast, b8, u8, a != 0)                                                                    \
  OWN(Sin, f32, f32)                                                                           \
  OWN(Cos, f32, f32)                                                                           \
  EACH(Sin, f64, f64, sin(a))                                                                   \
  EACH(Cos, f64, f64, cos(a))                                                                   \
  ONE(Floor, f32, f32, __builtin_floorf(a))                                                    \
  ONE(Ceil, f32, f32, __builtin_ceilf(a))                                                      \
  ONE(Round, f32, f32, __builtin_rintf(a))                                                     \
  ONE(Floor, f64, f64, __builtin_floor(a))                                                     \
  ONE(Ceil, f64, f64, __builtin_ceil(a))                                                       \
  ONE(Round, f64, f64, __builtin_rint(a))                                                      \
  ONE(Cast, f64, f32, (f64)a)                                                                  \
  ONE(Cast, f32, f64, (f32)a)                                                                  \
  ONE(Cast, f32, i32, (f32)a)                                                                  \
  ONE(Cast, f64, i32, (f64)a)                                                                  \
  ONE(Cast, f32, i64, (f32)a)                                                                  \
  ONE(Cast, f64, i64, (f64)a)                                                                  \
  ONE(Cast, f32, u32, (f32)a)                                                                  \
  ONE(Cast, f64, u32, (f64)a)                                                                  \
  ONE(Cast, f32, u64, (f32)a)                                                                  \
  ONE(Cast, f64, u64, (f64)a)                                                                  \
  ONE(Cast, i32, i64, (i32)(u32)(u64)a)                                                        \
  ONE(Cast, u32, i64, (u32)(u64)a)                                                             \
  ONE(Cast, u32, u64, (u32)a)                                                                  \
  ONE(Cast, i64, i32, (i64)a)                                                                  \
  ONE(Cast, i64, u32, (i64)a)                                                                  \
  ONE(Cast, u64, i64, (u64)a)                                                                  \
  ONE(Cast, i64, u64, (i64)a)                                                                  \
  ONE(Cast, u64, u32, (u64)a)                                                                  \
  ONE(Cast, i32, f32, a >= -2147483648.0f && a < 2147483648.0f ? (i32)a : INT32_MIN)           \
  ONE(Cast, i32, f64, a > -2147483649.0 && a < 2147483648.0 ? (i32)a : INT32_MIN)              \
  ONE(Cast, i64, f32,                                                                          \
      a >= -9223372036854775808.0f && a < 9223372036854775808.0f ? (i64)a : INT64_MIN)         \
  ONE(Cast, i64, f64,                                                                          \
      a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (i64)a : INT64_MIN)           \
  ONE(Copy, b8, b8, a)                                                                         \
  ONE(Copy, f32, f32, a)                                                                       \
  ONE(Copy, f64, f64, a)                                                                       \
  ONE(Copy, i32, i32, a)                                                                       \
  ONE(Copy, i64, i64, a)                                                                       \
  ONE(Copy, u32, u32, a)                                                                       \
  ONE(Copy, u64, u64, a)
