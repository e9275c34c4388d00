/* Go takes its random numbers from ProcessPrng of bcryptprimitives.dll, which
   Wine has from 8.8 on. This one passes it on to what Wine 8.0 has: RtlGenRandom
   of advapi32, whose name is SystemFunction036. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T left) {
  while (left > 0) {
    ULONG n = left < 1 << 20 ? (ULONG)left : 1 << 20;
    if (!SystemFunction036(data, n)) return FALSE;
    data += n;
    left -= n;
  }
  return TRUE;
}
