// <time.h>: clock and clock_t need no header.
#pragma once
