/* ProcessPrng for a Wine that has none: Go's runtime asks for it at its start, and Wine
   has it since 9. RtlGenRandom of advapi32 gives the bytes.

   As each program of Go has this library, it also spares that Wine a detour. Whoever asks
   of an open file what it is, or lists a directory, asks for the volume too. Wine has a
   service of its own look for that, by a dozen messages between four processes, and has
   no number for the drive of this machine in the end. Here a program asks once: tests lie
   on one volume.

   And a directory is not renamed while anything below it is open: Windows refuses that,
   and that Wine does it. */

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

static query set;

#define DENIED ((NTSTATUS)0xc0000022)
#define LONGEST 32768

/* Whether something below a directory is open. Room for its path, with n characters now. */
static BOOL in_use(WCHAR *path, size_t n)
{
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    /* Not FindFirstFile, which is refused while who renames has it open. */
    HANDLE dir = CreateFileW(path, FILE_LIST_DIRECTORY, share, NULL, OPEN_EXISTING, flags, NULL), h;
    BYTE *list = HeapAlloc(GetProcessHeap(), 0, 65536);
    FILE_ID_BOTH_DIR_INFO *f;
    BOOL used = FALSE;

    while (dir != INVALID_HANDLE_VALUE && list && !used && GetFileInformationByHandleEx(dir, FileIdBothDirectoryInfo, list, 65536))
        for (f = (void *)list; f; f = f->NextEntryOffset ? (void *)((BYTE *)f + f->NextEntryOffset) : NULL) {
            size_t len = f->FileNameLength / sizeof *path;
            if (f->FileName[0] == '.' && (len == 1 || len == 2 && f->FileName[1] == '.') || n + len + 2 > LONGEST)
                continue;
            path[n] = '\\';
            CopyMemory(path + n + 1, f->FileName, f->FileNameLength);
            path[n + 1 + len] = 0;
            h = CreateFileW(path, GENERIC_READ, 0, NULL, OPEN_EXISTING, flags, NULL);
            if (h == INVALID_HANDLE_VALUE)
                used |= GetLastError() == ERROR_SHARING_VIOLATION;
            else
                CloseHandle(h);
            if (f->FileAttributes & FILE_ATTRIBUTE_DIRECTORY)
                used |= in_use(path, n + 1 + len);
        }
    path[n] = 0;
    HeapFree(GetProcessHeap(), 0, list);
    CloseHandle(dir);
    return used;
}

static NTSTATUS NTAPI rename_unused(HANDLE h, IO_STATUS_BLOCK *io, void *what, ULONG n, int class)
{
    BY_HANDLE_FILE_INFORMATION is;
    WCHAR *path;
    DWORD len;
    BOOL used = FALSE;

    if ((class == 10 || class == 65) && GetFileInformationByHandle(h, &is)
        && (is.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) && (path = HeapAlloc(GetProcessHeap(), 0, LONGEST * sizeof *path))) {
        len = GetFinalPathNameByHandleW(h, path, LONGEST, 0);
        used = len > 0 && len < LONGEST && in_use(path, len);
        HeapFree(GetProcessHeap(), 0, path);
    }
    return used ? io->Status = DENIED : set(h, io, what, n, class);
}

/* Has a call of the system go to another function, for which was does the call itself. */
static void instead(const char *name, query to, query *was)
{
    static const BYTE call[] = {0x4c, 0x8b, 0xd1, 0xb8}; /* mov r10, rcx; mov eax, NUMBER */
    static const BYTE jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov rax, TO; jmp rax */
    BYTE *at = (BYTE *)GetProcAddress(GetModuleHandleA("ntdll.dll"), name), *kept;
    DWORD old;

    if (!at || memcmp(at, call, sizeof call))
        return;
    /* A call of the system has no address that depends on where it lies. */
    kept = VirtualAlloc(NULL, 4096, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
    if (!kept || !VirtualProtect(at, 32, PAGE_EXECUTE_READWRITE, &old))
        return;
    CopyMemory(kept, at, 32);
    *was = (query)kept;
    CopyMemory(at, jump, sizeof jump);
    CopyMemory(at + 2, &to, sizeof to);
    VirtualProtect(at, 32, old, &old);
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
    if (reason == DLL_PROCESS_ATTACH) {
        instead("NtQueryVolumeInformationFile", remember, &ask);
        instead("NtSetInformationFile", rename_unused, &set);
    }
    return TRUE;
}
