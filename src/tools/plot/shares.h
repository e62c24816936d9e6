/* The colors of attention weights (internal), from the background at 0 to HEED_SHARE_* at 100 %;
 * behind numbers, which must be readable, to HEED_SHARE_*_PALE. SVG files, reports and
 * examples/page/page.css have the same (tests/source/shares.sh compares them); terminals have the
 * nearest of xterm's 256. */
#ifndef HEED_TOOLS_SHARES_H
#define HEED_TOOLS_SHARES_H

#define HEED_SHARE_LIGHT      "#1f7d61"
#define HEED_SHARE_DARK       "#3fb68f"
#define HEED_SHARE_LIGHT_PALE "#62bf9f"
#define HEED_SHARE_DARK_PALE  "#0c6a54"

#endif
