// What a kernel may say of the grids before and after it: on the CPU one begins when those before
// it are done. Launching others needs a GPU.
#pragma once
__quern_fn void cudaGridDependencySynchronize() {}
__quern_fn void cudaTriggerProgrammaticLaunchCompletion() {}
