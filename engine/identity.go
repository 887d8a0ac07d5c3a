package engine

// ownIdentity signs snapshots where git names nobody.
const ownIdentity = "rewind <rewind@localhost>"

// identity is who a snapshot's commit is by.
func (e *Engine) identity() string {
	if e.repo == nil {
		return ownIdentity
	}
	return e.repo.Identity()
}
