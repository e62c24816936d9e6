/* The engine's part for the map of a GPT: a model of gpt train, and everything that its forward
 * computes for a text. As engine.h; one model at a time. */
#ifndef HEED_PAGE_GPT_MAP_H
#define HEED_PAGE_GPT_MAP_H

#include <stddef.h>
#include <stdint.h>

/* page_gpt_open: loads a file of gpt train; on error the model before stays.
 *
 *   {"level": "char", "vocab", "context", "layers", "heads", "width", "parameters", "steps",
 *    "tokens": [[byte, ...], ...]} */
const char *page_gpt_open(const char *path);

/* page_gpt_read: records gpt_forward over the last tokens of a text, at most GPT_MAP_TOKENS or
 * the model's context.
 *
 *   {"left_out": tokens before these, "ids": [...],
 *    "parts": [{"name", "dtype", "shape", "strides", "at"}, ...]}
 *
 * The names of parts, for block i:
 *
 *   wte wpe                         embeddings of tokens and of positions (T, C)
 *   stream.0                        their sum: where the residual stream begins
 *   h.i.ln_1  h.i.q h.i.k h.i.v     (T, C), and (H, T, C / H)
 *   h.i.percent                     attention of each head (H, T, T)
 *   h.i.mixed  h.i.attn             the heads side by side (T, C), and what c_proj makes of them
 *   stream.(2i + 1)                 + attn
 *   h.i.ln_2  h.i.fc  h.i.act       (T, C), and the feed-forward network's hidden layer (T, 4 C)
 *   h.i.mlp   stream.(2i + 2)       (T, C)
 *   ln_f  logits  shares            (T, C), (T, V), and their softmax
 *   norm.X                          the length of each row of X (T): of wte, wpe, attn, mlp,
 * streams guess.n  guess_share.n          what lm_head(ln_f(stream.n)) would say: ids (T) and
 * shares (T)
 *
 * All but the last two lines, h.i.percent and shares are results of the forward itself; percent is
 * computed from its q and k. Values stay until the next call. HEED_ERR_VALUE: there is no model, or
 * the text has no tokens or an unknown one. */
enum { GPT_MAP_TOKENS = 64 };
const char *page_gpt_read(const char *text, size_t length);

void gpt_map_end(void);

#endif
