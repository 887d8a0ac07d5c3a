/* ProcessPrng for a Wine that has none: Go's runtime asks for it at its start, and Wine
   has it since 9. RtlGenRandom of advapi32 gives the bytes. */

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(void *to, ULONG n);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T n)
{
    while (n > 0) {
        ULONG part = n > 0x10000000 ? 0x10000000 : (ULONG)n;
        if (!SystemFunction036(to, part))
            return FALSE;
        to += part;
        n -= part;
    }
    return TRUE;
}
