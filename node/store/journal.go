package store

// Record is one named piece of durable state. Data nil means: the record is gone.
type Record struct {
	Name string // a slash-separated name such as "pods/default_web"
	Data []byte
}

// Journal keeps records across restarts. Commit makes all of its records
// durable or none of them, and returns only when that is decided; it reports a
// full disk as ErrNoSpace. A commit that only shrinks (deletions, and records
// marked by the store as belonging to a deletion) must go through on a full
// disk: CommitReserved says so.
type Journal interface {
	Commit(records ...Record) error
	// CommitReserved is Commit with leave to use the space that is kept back
	// for deletions.
	CommitReserved(records ...Record) error
}
