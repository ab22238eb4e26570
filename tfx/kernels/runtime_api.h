/* The part of ONNX Runtime's C interface that custom operators need.

   ONNX Runtime hands out a table of functions to which releases only append, so a place in it means
   the same function for ever. The table is asked for as of version 18 (2024), which every release
   since then has; what came later is used where it is there. */

#ifndef TFX_RUNTIME_API_H
#define TFX_RUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

#ifndef RUNTIME_API_VERSION /* tests ask for one that no release has */
#define RUNTIME_API_VERSION 18
#endif
#define SHAPE_REFERENCE_VERSION 24

typedef struct RuntimeStatus RuntimeStatus; /* NULL: success */
typedef struct SessionOptions SessionOptions;
typedef struct OperatorDomain OperatorDomain;
typedef struct KernelInfo KernelInfo;
typedef struct KernelContext KernelContext;
typedef struct RuntimeValue RuntimeValue;
typedef struct TypeAndShape TypeAndShape;

/* Entries of the table by their places. */
enum {
  CREATE_STATUS = 0,
  CREATE_CUSTOM_OP_DOMAIN = 26,
  CUSTOM_OP_DOMAIN_ADD = 27,
  ADD_CUSTOM_OP_DOMAIN = 28,
  GET_TENSOR_MUTABLE_DATA = 51,
  GET_TENSOR_ELEMENT_TYPE = 60,
  GET_DIMENSIONS_COUNT = 61,
  GET_DIMENSIONS = 62,
  GET_TENSOR_TYPE_AND_SHAPE = 65,
  INFO_GET_ATTRIBUTE_INT64 = 86,
  CONTEXT_GET_INPUT_COUNT = 88,
  CONTEXT_GET_OUTPUT_COUNT = 89,
  CONTEXT_GET_INPUT = 90,
  CONTEXT_GET_OUTPUT = 91,
  RELEASE_TYPE_AND_SHAPE = 99,
  INFO_GET_ATTRIBUTE_ARRAY_INT64 = 163,
  CONTEXT_PARALLEL_FOR = 274,
  GET_TYPE_AND_SHAPE_REFERENCE = 414
};

enum { FAIL = 1, INVALID_ARGUMENT = 2 }; /* codes of a status */

typedef RuntimeStatus *(*CreateStatus)(int code, const char *message);
typedef RuntimeStatus *(*CreateCustomOpDomain)(const char *name, OperatorDomain **out);
typedef RuntimeStatus *(*CustomOpDomainAdd)(OperatorDomain *domain, const void *op);
typedef RuntimeStatus *(*AddCustomOpDomain)(SessionOptions *options, OperatorDomain *domain);
typedef RuntimeStatus *(*GetTensorMutableData)(RuntimeValue *value, void **out);
typedef RuntimeStatus *(*GetTensorElementType)(const TypeAndShape *of, int *out);
typedef RuntimeStatus *(*GetDimensionsCount)(const TypeAndShape *of, size_t *out);
typedef RuntimeStatus *(*GetDimensions)(const TypeAndShape *of, int64_t *dims, size_t count);
typedef RuntimeStatus *(*GetTensorTypeAndShape)(const RuntimeValue *value, TypeAndShape **out);
typedef RuntimeStatus *(*GetTypeAndShapeReference)(const RuntimeValue *value, int *type,
                                                   const int64_t **dims, size_t *count);
typedef RuntimeStatus *(*ContextGetCount)(const KernelContext *context, size_t *out);
typedef RuntimeStatus *(*ContextGetInput)(const KernelContext *context, size_t index,
                                          const RuntimeValue **out);
typedef RuntimeStatus *(*ContextGetOutput)(KernelContext *context, size_t index,
                                           const int64_t *dims, size_t count,
                                           RuntimeValue **out);
typedef void (*ReleaseTypeAndShape)(TypeAndShape *of);
typedef RuntimeStatus *(*InfoGetAttributeArrayInt64)(const KernelInfo *info, const char *name,
                                                     int64_t *out, size_t *count);
typedef RuntimeStatus *(*KernelInfoInt64)(const KernelInfo *info, const char *name,
                                          int64_t *out);
typedef RuntimeStatus *(*ContextParallelFor)(const KernelContext *context,
                                             void (*run)(void *data, size_t index),
                                             size_t total, size_t batches, void *data);

/* Any function of the table, before it is given its type. */
typedef void (*AnyFunction)(void);
typedef AnyFunction RuntimeApi;

typedef struct {
  const RuntimeApi *(*get_api)(uint32_t version);
  const char *(*get_version_string)(void);
} RuntimeApiBase;

enum { INPUT_OUTPUT_VARIADIC = 2 };

/* What describes a custom operator. */
typedef struct CustomOperator {
  uint32_t version;
  void *(*create_kernel)(const struct CustomOperator *, const RuntimeApi *, const KernelInfo *);
  const char *(*get_name)(const struct CustomOperator *);
  const char *(*get_execution_provider)(const struct CustomOperator *);
  int (*get_input_type)(const struct CustomOperator *, size_t);
  size_t (*get_input_type_count)(const struct CustomOperator *);
  int (*get_output_type)(const struct CustomOperator *, size_t);
  size_t (*get_output_type_count)(const struct CustomOperator *);
  void (*kernel_compute)(void *, KernelContext *);
  void (*kernel_destroy)(void *);
  int (*get_input_characteristic)(const struct CustomOperator *, size_t);
  int (*get_output_characteristic)(const struct CustomOperator *, size_t);
  int (*get_input_memory_type)(const struct CustomOperator *, size_t);
  int (*get_variadic_input_min_arity)(const struct CustomOperator *);
  int (*get_variadic_input_homogeneity)(const struct CustomOperator *);
  int (*get_variadic_output_min_arity)(const struct CustomOperator *);
  int (*get_variadic_output_homogeneity)(const struct CustomOperator *);
  RuntimeStatus *(*create_kernel_with_status)(const struct CustomOperator *, const RuntimeApi *,
                                              const KernelInfo *, void **);
  RuntimeStatus *(*kernel_compute_with_status)(void *, KernelContext *);
  RuntimeStatus *(*infer_output_shape)(const struct CustomOperator *, void *);
  int (*get_start_version)(const struct CustomOperator *);
  int (*get_end_version)(const struct CustomOperator *);
  size_t (*get_may_inplace)(int **, int **);
  void (*release_may_inplace)(int *, int *);
  size_t (*get_alias_map)(int **, int **);
  void (*release_alias_map)(int *, int *);
} CustomOperator;

#endif
