/* Modules, optimisers, files and pictures, as torch.nn and torch.optim. They use only the public API of
 * the layers below, so everything here could be written by a user.
 */
#ifndef HEED_NN_NN_H
#define HEED_NN_NN_H

#include "nn/module.h"

#include "nn/init.h"

#include "nn/activation.h"
#include "nn/cross_attention.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/gpt.h"
#include "nn/gpt_generate.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/mask.h"
#include "nn/multi_head.h"
#include "nn/multihead_attention.h"
#include "nn/position_encoding.h"
#include "nn/sample.h"
#include "nn/self_attention.h"
#include "nn/sequential.h"
#include "nn/transformer_encoder.h"

#include "nn/clip.h"
#include "nn/flatten.h"
#include "nn/optim.h"
#include "nn/schedule.h"

#include "nn/checkpoint.h"
#include "nn/gpt_files.h"
#include "nn/npy.h"
#include "nn/safetensors.h"

#include "nn/picture.h"

#endif
