package audit

import (
	"slices"
	"time"
)

// Filter selects entries. An empty field selects all.
type Filter struct {
	User   string
	Object Object // its revision has no meaning
	Verb   Verb
	Since  time.Time
}

// Matches reports whether an entry is selected. The object may be one of several in a manifest.
func (f Filter) Matches(e Entry) bool {
	if f.User != "" && f.User != e.User || f.Verb != "" && f.Verb != e.Verb || e.Time.Before(f.Since) {
		return false
	}
	if f.Object == (Object{}) {
		return true
	}
	return e.Object != nil && f.fits(*e.Object) || slices.ContainsFunc(e.Objects, f.fits)
}

func (f Filter) fits(o Object) bool {
	same := func(wanted, got string) bool { return wanted == "" || wanted == got }
	return same(f.Object.Kind, o.Kind) && same(f.Object.Namespace, o.Namespace) && same(f.Object.Name, o.Name) &&
		same(f.Object.UID, o.UID)
}
