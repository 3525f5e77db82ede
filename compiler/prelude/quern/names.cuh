// Names that a C program gets from its headers, for bodies that use them without: the same text as the headers themselves.
#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <math_constants.h>
#include <stdint.h>
