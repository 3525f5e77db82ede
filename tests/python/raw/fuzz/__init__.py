"""Random kernels without races: made as trees, rendered as CUDA C++, and interpreted over all threads at once."""
