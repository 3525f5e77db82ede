// <assert.h>: assert needs no header.
#pragma once
