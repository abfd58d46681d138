package agent

import (
	"nodal/host/auditfile"
	"nodal/node/store"
	"nodal/server/audit"
	"nodal/server/auth"
)

var _ audit.File = (*auditfile.File)(nil)

// openAudit opens the audit log, or returns nil if nothing is kept. A file that cannot be opened does not stop the
// agent, as its pods have to run: the log is tried again with each request.
func openAudit(o Options, s *store.Store) (*audit.Log, error) {
	c := o.Config.Audit
	if c.Policy.Silent() || o.Config.Sources.Once {
		return nil, nil
	}
	file := auditfile.New(auditfile.Config{Path: c.Path, MaxBytes: c.MaxBytes, Backups: c.Backups})
	if err := file.Prepare(); err != nil {
		o.Log.Error("cannot open the audit log", "err", err, "refusesChanges", !c.LetThrough)
	}
	return audit.New(audit.Config{
		Policy: c.Policy, Fields: c.Fields, LetThrough: c.LetThrough, File: file, Store: s, Log: o.Log,
	})
}

// guarding returns what a guard gets besides its settings: what a cluster knows of callers, and the audit log.
func guarding(f facts, m memory) func(*auth.Config) {
	return func(c *auth.Config) {
		if f.cluster != nil {
			f.cluster.Guard(c)
		}
		if m.audit != nil {
			c.Audit = m.audit
		}
	}
}
