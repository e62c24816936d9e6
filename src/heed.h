/* Heed: a tiny autograd framework that trains self-attention. The one header to include:
 * below, its parts in reading order.
 *
 * What holds everywhere:
 *
 * - Every tensor that a function returns belongs to the innermost open scope; never free it. To
 *   keep one longer, heed_retain it, and later heed_release it.
 * - What returns a tensor returns NULL on error; while an error is pending nothing computes. NULL
 *   where a tensor is required is HEED_ERR_NULL; for an optional tensor it means "none".
 * - Names, argument order and meaning are PyTorch's (docs/pytorch.md). The suffixes `_scalar`,
 *   `_dim` and `_dims` mark forms with a number, a dim or several dims; `_with` marks forms with a
 *   struct of options as their last argument, in which zero means torch's default. Negative dims
 * count from the end.
 * - In comments shapes stand in parentheses, g is dL/dy, and dx is dL/dx. No operation changes a
 *   tensor; functions that do end in `_into`, or are heed_data_*, heed_set_data, optimisers, and
 *   what loads or casts a whole module.
 */
#ifndef HEED_H
#define HEED_H

/* clang-format off */
#include "tensor/error.h"                /* one pending error per thread */
#include "tensor/dtype.h"                /* the types of elements: f32, f64, i64, bool */
#include "tensor/tensor.h"               /* the tensor: shape, strides, storage, node */
#include "tensor/read.h"                 /* its sizes, its elements, its memory */
#include "tensor/scope.h"                /* who owns tensors; retain, share, grad mode */
#include "tensor/create.h"               /* zeros, full, arange, from_*, ...; copying in and out */
#include "tensor/print.h"                /* tensors as torch prints them */

#include "tensor/random/random.h"        /* PyTorch's numbers: manual_seed, rand, randn, ... */
#include "tensor/random/multinomial.h"   /* categories drawn with given probabilities */
#include "tensor/random/state.h"         /* a generator's state; which PyTorch it follows */

#include "tensor/alloc.h"                /* memory for your own modules; what is alive */
#include "tensor/check.h"                /* argument checks for your own functions */
#include "tensor/isa.h"                  /* which instruction set computes */
#include "tensor/parallel.h"             /* how many threads compute */
#include "tensor/optim_update.h"         /* fused updates of parameters; the norm of gradients */

#include "autograd/ops/elementwise.h"    /* add, mul, exp, ... activations, comparisons, logic */
#include "autograd/ops/view.h"           /* transpose, reshape, expand, ...; detach, clone, to */
#include "autograd/ops/slice.h"          /* slice, select, narrow, split, chunk, diagonal */
#include "autograd/ops/rearrange.h"      /* cat, stack, flip, roll, repeat: copies */
#include "autograd/ops/reductions.h"     /* sum, mean, max, argmax, var, norm, any, ... */
#include "autograd/ops/matmul.h"         /* matmul, linear, bmm, outer, addmm */
#include "autograd/ops/einsum.h"         /* any product of two, as a line of letters */
#include "autograd/ops/softmax.h"        /* softmax, safe_softmax, log_softmax */
#include "autograd/ops/normalization.h"  /* layer_norm, rms_norm */
#include "autograd/ops/dot_product_attention.h" /* scaled_dot_product_attention */
#include "autograd/ops/dropout.h"   /* dropout */
#include "autograd/ops/loss.h"           /* mse, l1, huber, bce_with_logits, kl_div */
#include "autograd/ops/cross_entropy.h"  /* cross_entropy, nll_loss */
#include "autograd/ops/index.h"          /* index_select, gather, embedding, one_hot, ... */
#include "autograd/ops/masking.h"        /* where, masked_fill, tril, triu */
#include "autograd/ops/sort.h"           /* argsort, sort, topk */
#include "autograd/ops/compare.h"        /* allclose, equal: whole tensors */

#include "autograd/grad.h"               /* backward, grad, requires_grad */
#include "autograd/gradcheck.h"          /* derivatives against finite differences */
#include "autograd/op.h"                 /* how an operation is made; your own operations */
#include "autograd/apply.h"              /* the one function that applies an operation */

#include "nn/module.h"                   /* parameters and children by name; your own modules */
#include "nn/tensor_list.h"              /* lists of tensors by name: parameters, state dicts */
#include "nn/init.h"                     /* initial values of parameters, as torch.nn.init */

#include "nn/layers/linear.h"            /* Linear */
#include "nn/layers/embedding.h"         /* Embedding */
#include "nn/layers/position_encoding.h" /* sinusoidal positions */
#include "nn/layers/layer_norm.h"        /* LayerNorm */
#include "nn/layers/activation_dropout.h"         /* Dropout, ReLU, GELU and other activations */
#include "nn/layers/feed_forward.h"      /* the feed-forward network of a transformer */
#include "nn/layers/sequential.h"        /* layers one after another */

#include "nn/attention/self_attention.h" /* SelfAttention, as the class of the PyTorch tutorial */
#include "nn/attention/cross_attention.h" /* the same with queries of another sequence */
#include "nn/attention/multi_head.h"     /* several heads, mixed by W_o */
#include "nn/attention/mask.h"           /* masks, and what true means in each */
#include "nn/attention/torch_multihead_attention.h" /* torch.nn.MultiheadAttention */
#include "nn/attention/transformer_encoder.h" /* torch.nn.TransformerEncoder and its layer */

#include "nn/optim/optimizer.h"          /* SGD, Adam, AdamW */
#include "nn/optim/schedule.h"           /* learning rates as functions of the step */
#include "nn/optim/clip.h"               /* clipping of gradients */
#include "nn/optim/flatten.h"            /* all parameters or gradients as one tensor */

#include "nn/gpt/gpt.h"                  /* GPT-2: forward, loss, cache, generation */
#include "nn/gpt/sample.h"               /* the next token, drawn from logits */
#include "nn/gpt/gpt_files.h"            /* transformers' and nanoGPT's files */

#include "nn/files/safetensors.h"        /* named tensors in files */
#include "nn/files/checkpoint.h"         /* models and training runs in files */
#include "nn/files/npy.h"                /* numpy's .npy */

#include "nn/heat_map.h"                 /* attention to look at, in a terminal */
/* clang-format on */

#endif
