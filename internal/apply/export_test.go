package apply

// ErrStopped, returned by a hook, plays a crash: nothing is cleaned up as long
// as the hook goes on returning it.
var ErrStopped = errStopped

// Hook sets what is called before each change to the file system.
func (o *Options) Hook(hook func(op, path string) error) { o.hook = hook }

// Alone lets one goroutine do everything.
func (o *Options) Alone() { o.workers = 1 }

// NoExchange plays a file system that cannot exchange two names.
func (o *Options) NoExchange() { o.noExchange = true }

// As makes the permissions of another user count.
func (o *Options) As(uid int) { o.uid = uid }

// NoSync saves the time of syncing.
func (o *Options) NoSync() { o.noSync = true }

// Cloned sets what is told of each file whose content is shared.
func (f *Filling) Cloned(told func(path string)) { f.cloned = told }

// SafePath, Seen and Grant are for the tests of the package from outside.
var (
	SafePath = safePath
	Seen     = seen
	Grant    = grant
)

// Order returns the steps in the order in which they are carried out.
func Order(steps []Step) []*Step { return newClearing(steps).order(steps) }
