// <stdio.h>: printf needs no header.
#pragma once
