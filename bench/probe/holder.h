// How long others wait when the process that holds the memory is killed.
#pragma once

namespace divvy::bench {

// `trials` times: a victim takes nearly the whole share and goes on allocating and freeing; it is
// killed; a survivor that allocates and frees small blocks all the time, and asks for the victim's
// bytes, tells how long both took. Prints per trial "gap MILLISECONDS" (the survivor's longest
// wait for one small operation) and "back MILLISECONDS" (until the victim's bytes were granted),
// at the end "lost BYTES" (free memory before minus after). 0 when all went well.
int runHolder(int trials);

}  // namespace divvy::bench
