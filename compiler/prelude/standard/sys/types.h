// <sys/types.h>, which <stdlib.h> brings along: short names of unsigned integers.
#pragma once
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
