/* Heed: a tiny autograd framework that trains self-attention. The one header to include.
 *
 * In reading order:
 *
 *   tensor/error.h          one pending error per thread, and what holds while it is pending
 *   tensor/dtype.h          the types of elements: f32, f64, i64, bool
 *   tensor/tensor.h         the tensor: shape, strides, storage, node
 *   tensor/read.h           its sizes, its elements, and the doors to its memory
 *   tensor/scope.h          who owns what a function returns; retain, share, grad mode
 *   tensor/check.h          checks of arguments, for functions of one's own
 *   tensor/alloc.h          memory, for modules and operations of one's own; what is alive
 *   tensor/create.h         zeros, ones, full, eye, arange, linspace, from_*; copying in and out
 *   tensor/random/random.h  PyTorch's CPU generator: manual_seed, rand, randn, randint, ...
 *   tensor/random/state.h   a generator's state, and the PyTorch that it follows
 *   tensor/random/multinomial.h  categories drawn with given probabilities
 *   tensor/print.h          tensors as torch prints them
 *   tensor/update.h         updates of parameters by an optimiser, the norm of gradients, fused
 *   tensor/isa.h            which instruction set computes
 *   tensor/parallel.h       how many threads compute
 *   autograd/ops/elementwise.h  add, mul, exp, ... activations, comparisons, logic
 *   autograd/ops/masking.h      where, masked_fill, tril, triu
 *   autograd/ops/dropout_mask.h dropout
 *   autograd/ops/compare.h      allclose, equal: whole tensors
 *   autograd/ops/view.h         transpose, permute, reshape, expand, ...; detach, clone, to
 *   autograd/ops/slice.h        slice, select, narrow, split, chunk, diagonal: parts, as views
 *   autograd/ops/rearrange.h    cat, stack, flip, roll, repeat: copies
 *   autograd/ops/reductions.h   sum, mean, max, argmax, var, norm, any, logsumexp, ...
 *   autograd/ops/softmax.h      softmax, safe_softmax, log_softmax
 *   autograd/ops/matmul.h       matmul, linear (x weight^T + bias), bmm, outer, addmm
 *   autograd/ops/einsum.h       any product of two, as a line of letters
 *   autograd/ops/dot_product_attention.h  scaled_dot_product_attention
 *   autograd/ops/index.h        index_select, gather, scatter_add, masked_select, one_hot, embedding
 *   autograd/ops/sort.h         argsort, sort, topk
 *   autograd/ops/normalization.h  layer_norm, rms_norm
 *   autograd/ops/loss.h         mse_loss, l1_loss, huber_loss, bce_with_logits, kl_div
 *   autograd/ops/cross_entropy.h  cross_entropy, nll_loss
 *   autograd/grad.h         backward, grad, requires_grad
 *   autograd/gradcheck.h    derivatives against finite differences
 *   autograd/op.h           how an operation is made; operations of one's own
 *   autograd/apply.h        the one function that applies an operation
 *
 * What holds everywhere:
 *
 * - Every tensor that a function returns belongs to the innermost open scope; never free it. To
 *   keep one longer, heed_retain it, and later heed_release it.
 * - What returns a tensor returns NULL on error; while an error is pending nothing computes. NULL
 *   where a tensor is required is HEED_ERR_NULL; for an optional tensor it means "none".
 * - Names, argument order and meaning are PyTorch's (docs/pytorch.md); `_scalar`, `_dim` and `_dims`
 *   mark the forms with a number, a dim or several, `_with` those with a struct of options, of which
 *   zero means torch's default. Negative dims count from the end.
 * - In comments shapes stand in parentheses, g is dL/dy, and dx is dL/dx. No operation changes a
 *   tensor; functions that do end in `_into`, or are heed_data_*, heed_set_data, optimisers, and
 *   what loads or casts a whole module.
 */
#ifndef HEED_H
#define HEED_H

#include "tensor/error.h"

#include "tensor/dtype.h"

#include "tensor/tensor.h"

#include "tensor/read.h"
#include "tensor/scope.h"

#include "tensor/alloc.h"
#include "tensor/check.h"

#include "tensor/create.h"
#include "tensor/random/multinomial.h"
#include "tensor/random/random.h"
#include "tensor/random/state.h"

#include "tensor/isa.h"
#include "tensor/parallel.h"
#include "tensor/print.h"
#include "tensor/update.h"

#include "autograd/ops/compare.h"
#include "autograd/ops/cross_entropy.h"
#include "autograd/ops/dot_product_attention.h"
#include "autograd/ops/dropout_mask.h"
#include "autograd/ops/einsum.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/index.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/masking.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/normalization.h"
#include "autograd/ops/rearrange.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/slice.h"
#include "autograd/ops/softmax.h"
#include "autograd/ops/sort.h"
#include "autograd/ops/view.h"

#include "autograd/apply.h"
#include "autograd/grad.h"
#include "autograd/gradcheck.h"
#include "autograd/op.h"

#include "nn/heat_map.h"
#include "nn/init.h"
#include "nn/module.h"
#include "nn/named_tensors.h"

#include "nn/layers/embedding.h"
#include "nn/layers/feed_forward.h"
#include "nn/layers/layer_norm.h"
#include "nn/layers/linear.h"
#include "nn/layers/pointwise.h"
#include "nn/layers/position_encoding.h"
#include "nn/layers/sequential.h"

#include "nn/attention/cross_attention.h"
#include "nn/attention/mask.h"
#include "nn/attention/multi_head.h"
#include "nn/attention/multihead_attention.h"
#include "nn/attention/self_attention.h"
#include "nn/attention/transformer_encoder.h"

#include "nn/gpt/gpt.h"
#include "nn/gpt/gpt_files.h"
#include "nn/gpt/sample.h"

#include "nn/optim/clip.h"
#include "nn/optim/flatten.h"
#include "nn/optim/optimizer.h"
#include "nn/optim/schedule.h"

#include "nn/files/checkpoint.h"
#include "nn/files/npy.h"
#include "nn/files/safetensors.h"

#endif
