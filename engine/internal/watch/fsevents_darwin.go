package watch

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ebitengine/purego"
)

// The calls are those of https://developer.apple.com/documentation/coreservices/file_system_events,
// of Core Foundation and of libdispatch. Releases are built without a C compiler, so they
// are found when they are needed.
const (
	coreServicesPath = "/System/Library/Frameworks/CoreServices.framework/CoreServices"
	systemPath       = "/usr/lib/libSystem.B.dylib"

	// https://developer.apple.com/documentation/coreservices/1455376-fseventstreamcreateflags
	createNoDefer    = 0x02 // an event that comes alone is told at once
	createWatchRoot  = 0x04 // that the root, or what it lies in, is moved is told
	createFileEvents = 0x10 // files are told, not their directories alone

	sinceNow = ^uint64(0) // kFSEventStreamEventIdSinceNow
	latency  = 0.01       // in seconds, which a flush does not wait for
)

// coreServices are the calls of the system that are used.
type coreServices struct {
	callback  uintptr // for all streams: one can be made for a process some thousand times
	ofObjects uintptr // kCFTypeArrayCallBacks

	stringOf func(allocator uintptr, path string) uintptr                               // CFStringCreateWithFileSystemRepresentation
	arrayOf  func(allocator uintptr, values *uintptr, n int, callbacks uintptr) uintptr // CFArrayCreate
	release  func(object uintptr)                                                       // CFRelease
	queueOf  func(label string, attributes uintptr) uintptr                             // dispatch_queue_create
	queueEnd func(queue uintptr)                                                        // dispatch_release
	create   func(allocator, callback uintptr, context *streamContext, paths uintptr, since uint64, latency float64, flags uint32) uintptr
	setQueue func(stream, queue uintptr)
	start    func(stream uintptr) bool
	flushing func(stream uintptr)
	stop     func(stream uintptr)
	invalid  func(stream uintptr)
	drop     func(stream uintptr)
}

// streamContext is FSEventStreamContext: a version, which is 0, what the callback gets,
// and functions that are not needed. The system copies it.
type streamContext struct {
	_    int
	info uintptr
	_    [3]uintptr
}

// services finds the calls, once.
var services = sync.OnceValues(func() (api *coreServices, err error) {
	defer func() {
		if missing := recover(); missing != nil {
			api, err = nil, fmt.Errorf("%v", missing)
		}
	}()
	framework, err := purego.Dlopen(coreServicesPath, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	system, err := purego.Dlopen(systemPath, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	api = &coreServices{callback: purego.NewCallback(heard)}
	if api.ofObjects, err = purego.Dlsym(framework, "kCFTypeArrayCallBacks"); err != nil {
		return nil, err
	}
	purego.RegisterLibFunc(&api.stringOf, framework, "CFStringCreateWithFileSystemRepresentation")
	purego.RegisterLibFunc(&api.arrayOf, framework, "CFArrayCreate")
	purego.RegisterLibFunc(&api.release, framework, "CFRelease")
	purego.RegisterLibFunc(&api.queueOf, system, "dispatch_queue_create")
	purego.RegisterLibFunc(&api.queueEnd, system, "dispatch_release")
	purego.RegisterLibFunc(&api.create, framework, "FSEventStreamCreate")
	purego.RegisterLibFunc(&api.setQueue, framework, "FSEventStreamSetDispatchQueue")
	purego.RegisterLibFunc(&api.start, framework, "FSEventStreamStart")
	purego.RegisterLibFunc(&api.flushing, framework, "FSEventStreamFlushSync")
	purego.RegisterLibFunc(&api.stop, framework, "FSEventStreamStop")
	purego.RegisterLibFunc(&api.invalid, framework, "FSEventStreamInvalidate")
	purego.RegisterLibFunc(&api.drop, framework, "FSEventStreamRelease")
	return api, nil
})

// begin starts a stream of what is done in a directory and below it, which is told to the
// watcher of this key: events come on a queue of their own, one after the other.
func (api *coreServices) begin(root string, key uintptr) (stream, queue uintptr, err error) {
	path := api.stringOf(0, root)
	if path == 0 {
		return 0, 0, errors.New("the system cannot hold the path")
	}
	defer api.release(path)
	paths := api.arrayOf(0, &path, 1, api.ofObjects)
	if paths == 0 {
		return 0, 0, errors.New("no memory")
	}
	defer api.release(paths)
	context := streamContext{info: key}
	if stream = api.create(0, api.callback, &context, paths, sinceNow, latency, createNoDefer|createWatchRoot|createFileEvents); stream == 0 {
		return 0, 0, errors.New("FSEventStreamCreate gave nothing")
	}
	if queue = api.queueOf("rewind.watch", 0); queue == 0 {
		api.drop(stream)
		return 0, 0, errors.New("dispatch_queue_create gave nothing")
	}
	api.setQueue(stream, queue)
	if !api.start(stream) { // which has to be made ready for its end all the same
		api.invalid(stream)
		api.drop(stream)
		api.queueEnd(queue)
		return 0, 0, errors.New("FSEventStreamStart failed")
	}
	return stream, queue, nil
}

// flush returns when all is told that was done before.
func (api *coreServices) flush(stream uintptr) { api.flushing(stream) }

// end ends a stream. It is in this order that the system wants it.
func (api *coreServices) end(stream, queue uintptr) {
	api.stop(stream)
	api.invalid(stream)
	api.drop(stream)
	api.queueEnd(queue)
}
