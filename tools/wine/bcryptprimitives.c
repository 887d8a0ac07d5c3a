/* ProcessPrng for a Wine that has none: Go's runtime asks for it at its start, and Wine
   has it since 9. RtlGenRandom of advapi32 gives the bytes.

   As each program of Go has this library, it also spares that Wine a detour. Whoever asks
   of an open file what it is, or lists a directory, asks for the volume too. Wine has a
   service of its own look for that, by a dozen messages between four processes, and has
   no number for the drive of this machine in the end. Here a program asks once: tests lie
   on one volume. */

#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winternl.h>

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

typedef NTSTATUS (NTAPI *query)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, int);

static query ask;

#define NO_NUMBER ((NTSTATUS)0xc0000002) /* "not implemented" */

/* What was answered first, of the name and serial number (1) and of the kind (5). */
static struct { volatile LONG state; NTSTATUS status; ULONG n; BYTE text[512]; } known[6];

static NTSTATUS NTAPI remember(HANDLE h, IO_STATUS_BLOCK *io, void *to, ULONG n, int class)
{
    NTSTATUS status;

    if (class != 1 && class != 5)
        return ask(h, io, to, n, class);
    if (known[class].state == 2 && known[class].n <= n) {
        CopyMemory(to, known[class].text, known[class].n);
        io->Information = known[class].n;
        return io->Status = known[class].status;
    }
    status = ask(h, io, to, n, class);
    if ((status == NO_NUMBER || status == 0 && io->Information <= sizeof known[class].text)
        && InterlockedCompareExchange(&known[class].state, 1, 0) == 0) {
        known[class].status = status;
        known[class].n = status == 0 ? (ULONG)io->Information : 0;
        CopyMemory(known[class].text, to, known[class].n);
        InterlockedExchange(&known[class].state, 2);
    }
    return status;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
    static const BYTE call[] = {0x4c, 0x8b, 0xd1, 0xb8}; /* mov r10, rcx; mov eax, NUMBER */
    static const BYTE jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov rax, TO; jmp rax */
    BYTE *at = (BYTE *)GetProcAddress(GetModuleHandleA("ntdll.dll"), "NtQueryVolumeInformationFile"), *kept;
    void *to = remember;
    DWORD old;

    if (reason != DLL_PROCESS_ATTACH || !at || memcmp(at, call, sizeof call))
        return TRUE;
    /* A call of the system has no address that depends on where it lies. */
    kept = VirtualAlloc(NULL, 4096, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
    if (!kept || !VirtualProtect(at, 32, PAGE_EXECUTE_READWRITE, &old))
        return TRUE;
    CopyMemory(kept, at, 32);
    ask = (query)kept;
    CopyMemory(at, jump, sizeof jump);
    CopyMemory(at + 2, &to, sizeof to);
    VirtualProtect(at, 32, old, &old);
    return TRUE;
}
