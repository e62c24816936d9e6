/* All parameters of a model, or all their gradients, side by side in one tensor: to send them to
 * another process, add them up over several, or measure them, by one call.
 *
 *     heed_backward(loss);
 *     heed_tensor *grads = heed_flatten_grads(heed_parameters(model));
 *     MPI_Allreduce(MPI_IN_PLACE, heed_data_f32(grads), (int)grads->numel, MPI_FLOAT, MPI_SUM,
 *                   comm);
 *     heed_scale_into(grads, 1.0 / ranks);
 *     heed_optimizer_step(adam);                 // examples/train_mpi.c is the whole program
 */
#ifndef HEED_NN_FLATTEN_H
#define HEED_NN_FLATTEN_H

#include "../module.h"

HEED_BEGIN_DECLS

/* heed_flatten_grads: all gradients in one tensor, in the order of the list, and each .grad from
 * now on a view of its part: a change of one changes the other. As FSDP's flat
 * parameter in torch.
 *
 *   parameters of n_i elements, of one dtype   ->   grads (sum of n_i)
 *
 * A parameter without a gradient gets zeros, so that the layout is that of the model and the same
 * in every process; mind that an optimiser then steps it as well. One that requires no gradient is
 * left out.
 *
 * The next backward adds to the views, hence to the tensor; heed_zero_grad releases the views. To
 * copy nothing at a step, flatten once, before the first backward, heed_retain the tensor, and
 * heed_fill_into(grads, 0) where heed_zero_grad would stand.
 *
 * HEED_ERR_VALUE: no parameter requires a gradient. HEED_ERR_DTYPE: f32 with f64. HEED_ERR_NULL: a
 * parameter is NULL. On error gradients keep their values. */
heed_tensor *heed_flatten_grads(heed_tensor_list parameters);

/* heed_parameters_to_vector: as torch.nn.utils.parameters_to_vector(parameters): a copy of all of
 * them in one tensor.
 *
 *   parameters of n_i elements, of one dtype   ->   y (sum of n_i)        each its part of g
 *
 * heed_vector_to_parameters: as torch.nn.utils.vector_to_parameters(vec, parameters): the reverse,
 * through heed_copy_into: parameters keep their memory and gradients, and share none with vec.
 *
 * HEED_ERR_VALUE: no parameters. HEED_ERR_DTYPE: f32 with f64. HEED_ERR_SHAPE: vec is not (sum of
 * n_i).
 * HEED_ERR_NULL: vec or a parameter is NULL. */
heed_tensor *heed_parameters_to_vector(heed_tensor_list parameters);
heed_status heed_vector_to_parameters(heed_tensor *vec, heed_tensor_list parameters);

HEED_END_DECLS
#endif
