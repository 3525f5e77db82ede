// <inttypes.h>
#pragma once
#include <stdint.h>
