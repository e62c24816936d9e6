/* Heed: a tiny autograd framework that trains self-attention. Include only this header; it lists
 * its parts in reading order.
 *
 * Conventions:
 *
 * - Every tensor that a function returns belongs to the innermost open scope; never free it. To
 *   keep one longer, heed_retain it, and later heed_release it.
 * - A tensor, a module and all that is made from them belong to one thread. Threads may train
 * models of their own at the same time; a finished model may pass to another thread after
 * pthread_join.
 * - Functions that return a tensor return NULL on error, and nothing is computed while an error is
 *   pending. Passing NULL for a required tensor fails with HEED_ERR_NULL; for an optional tensor,
 *   NULL means "none".
 * - Names, argument order and semantics are PyTorch's (docs/pytorch.md). The suffixes `_scalar`,
 *   `_dim` and `_dims` mark forms that take a number, a dim or several dims; `_with` marks forms
 *   whose last argument is a struct of options; a field left at zero takes torch's default.
 *   Negative dims count from the end.
 * - In comments, shapes are in parentheses, g is dL/dy, and dx is dL/dx. Operations never change
 *   the elements of a tensor. Only these functions do: those that end in `_into`, heed_data_*,
 *   the optimisers, and functions that load or cast a whole module; backward and
 *   gradient clipping change .grad.
 */
#ifndef HEED_H
#define HEED_H

/* clang-format off */
/* ---- Tensors ---- */
#include "tensor/error.h"  /* one pending error per thread */
#include "tensor/dtype.h"  /* element types: f32, f64, i64, bool */
#include "tensor/tensor.h" /* the tensor: shape, strides, storage, node */
#include "tensor/read.h"   /* access to sizes, elements and memory */
#include "tensor/scope.h"  /* ownership of tensors; retain, grad mode; argument checks */
#include "tensor/create.h" /* zeros, full, arange, from_*, ...; copying in and out */

/* ---- Random numbers ---- */
#include "tensor/random/random.h" /* PyTorch's random numbers: manual_seed, rand, randn, ... */

/* ---- Memory and threads ---- */
#include "tensor/alloc.h"    /* memory for your own modules; counts of live tensors */
#include "tensor/parallel.h" /* the number of threads; subnormal numbers flushed to 0 */
#include "tensor/version.h"  /* the version, the instruction set; a line for bug reports */

/* ---- Operations ---- */
#include "autograd/ops/operations.h"                   /* add, matmul, softmax, reshape, cross_entropy, ... */

/* ---- Gradients ---- */
#include "autograd/grad.h"        /* backward, grad, requires_grad */
#include "autograd/gradcheck.h"   /* checks derivatives against finite differences */
#include "autograd/op.h"          /* defining operations, including your own; applying them */
#include "autograd/hook.h"        /* your callbacks for operations and gradients; traces; anomalies */
#include "autograd/print.h"       /* prints tensors as torch does */

/* ---- Modules ---- */
#include "nn/module.h"      /* parameters, children, state dicts, training mode; your own modules */

#include "nn/layers.h"      /* Linear, Embedding, LayerNorm, Dropout, FeedForward, ModuleList */

/* ---- Attention ---- */
#include "nn/attention.h"                 /* SelfAttention as in the PyTorch tutorial, MultiHead, masks */
#include "nn/torch_multihead_attention.h" /* torch.nn.MultiheadAttention */

/* ---- Optimisers ---- */
#include "nn/optimizer.h" /* SGD, Adam, AdamW, gradient clipping, a learning rate schedule */

/* ---- Files ---- */
#include "nn/safetensors.h" /* files of tensors, models and training runs */

/* ---- Watching ---- */
#include "nn/heat_map.h" /* attention heat maps in a terminal */
#include "nn/watch.h"    /* values of a run: a bar or lines, and a CSV file */

/* ---- Checking attention ---- */
#include "check/attention_check.h" /* is it attention? which mistake is it? */
/* clang-format on */

#endif
