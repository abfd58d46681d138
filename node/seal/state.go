package seal

// State describes the key and what it seals.
type State struct {
	Source Source
	Place  string // the file or socket of the source
	KeyID  string // of the key that seals now; empty until there is one
	// Records counts the records that are sealed.
	Records int
	// Older counts those of them that another key than the present one seals.
	Older int
	// Unreadable counts those of them that do not open now.
	Unreadable int
	// Fault says why the key cannot be used, or why an older one is still needed, and what to do. It is empty if all
	// is well.
	Fault string
}
