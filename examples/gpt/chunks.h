/* How a byte-pair encoder cuts a text into chunks, which no token crosses, and which chunks a text
 * has.
 *
 * The rule looks at bytes, so that it holds for any: a byte is a letter (a-z, A-Z, and all from
 * 0x80 on: those of UTF-8 outside ASCII), a digit, a blank (the space, \t \n \v \f \r) or a mark
 * (all others, NUL among them). A chunk is
 *
 * - a run of letters, of digits or of marks, with one space before it if there is one, or
 * - a run of blanks, without the last if that is the space of the chunk that follows,
 *
 * and at most CHUNK_LONGEST bytes: what is longer is cut there, and goes on as another chunk. Where
 * a chunk ends, only the bytes from its first one on decide, so a text can be cut from the first
 * byte of any chunk. (GPT-2 cuts like this, by a pattern over the classes of Unicode.)
 */
#ifndef HEED_GPT_CHUNKS_H
#define HEED_GPT_CHUNKS_H

#include "examples/common/vocabulary.h"

enum { CHUNK_LONGEST = 128 };

/* chunk_length: of the chunk that the next `left` bytes begin with; 0: none are left. */
size_t chunk_length(const char *bytes, size_t left);

/* chunks_of_text: the different chunks of a text, in its order, and how often each is there. If
 * they have more than `most` bytes together, what comes later counts only as far as it is among the
 * first.
 * HEED_ERR_MEMORY: there is none; the vocabulary is empty. */
vocabulary chunks_of_text(const char *bytes, size_t length, size_t most);

#endif
