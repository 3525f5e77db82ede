// The older name of the pipeline headers.
#pragma once
#include <cuda_pipeline_primitives.h>
