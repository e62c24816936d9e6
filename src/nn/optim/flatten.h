/* All parameters of a model, or all their gradients, as one flat tensor, so that a single call
 * sends them to another process, sums them over processes or computes their norm.
 *
 *     heed_backward(loss);
 *     heed_tensor *grads = heed_flatten_grads(heed_parameters(model));
 *     MPI_Allreduce(MPI_IN_PLACE, heed_data_f32(grads), (int)grads->numel, MPI_FLOAT, MPI_SUM,
 *                   comm);
 *     heed_scale_into(grads, 1.0 / ranks);
 *     heed_optimizer_step(adam);
 */
#ifndef HEED_NN_FLATTEN_H
#define HEED_NN_FLATTEN_H

#include "../module.h"

HEED_BEGIN_DECLS

/* heed_flatten_grads: copies all gradients into one tensor, in list order, and makes each .grad a
 * view of its part, like the flat parameter of torch's FSDP.
 *
 *   parameters of n_i elements, of one dtype   ->   grads (sum of n_i)
 *
 * A parameter without a gradient gets zeros, so that all processes have the same layout; note that
 * an optimiser then updates such a parameter as well. A parameter that does not require a gradient
 * is left out.
 *
 * The next backward adds to the views, hence to the tensor; heed_zero_grad releases the views. To
 * avoid copying at each step, flatten once, before the first backward, heed_retain the tensor, and
 * call heed_fill_into(grads, 0) instead of heed_zero_grad.
 *
 * HEED_ERR_VALUE: no parameter requires a gradient. HEED_ERR_DTYPE: f32 mixed with f64.
 * HEED_ERR_NULL: a parameter is NULL. On error, gradients keep their values. */
heed_tensor *heed_flatten_grads(heed_tensor_list parameters);

/* heed_parameters_to_vector: as torch.nn.utils.parameters_to_vector(parameters): a copy of all
 * parameters in one tensor. In backward each parameter gets its part of the gradient.
 *
 *   parameters of n_i elements, of one dtype   ->   y (sum of n_i)
 *
 * heed_vector_to_parameters: as torch.nn.utils.vector_to_parameters(vec, parameters): the reverse.
 * It copies the values, so parameters keep their own memory and their gradients.
 *
 * HEED_ERR_VALUE: no parameters. HEED_ERR_DTYPE: f32 mixed with f64. HEED_ERR_SHAPE: vec is not
 * (sum of n_i). HEED_ERR_NULL: vec or a parameter is NULL. */
heed_tensor *heed_parameters_to_vector(heed_tensor_list parameters);
heed_status heed_vector_to_parameters(heed_tensor *vec, heed_tensor_list parameters);

HEED_END_DECLS
#endif
