// Package audit holds the vocabulary of the audit log: which entries it has, which of their fields a policy keeps,
// and how many entries strangers may cause.
//
//	a request ─▶ Policy: off, metadata or requests ─▶ Entry "received" ─▶ the request runs ─▶ Entry "done"
//	refused   ─▶ Flood: a few for each address     ─▶ Entry "refused", or counted in one "leftOut"
//
// An Entry is a line of JSON. Its fields are a contract: scripts read them, and later versions keep their names.
// No field holds a value of a Secret, a token, a command or the value of an environment variable, except Request,
// which a policy has to ask for, and which holds no value of a Secret either.
//
// Nothing here writes or reads the clock. host/auditfile keeps the lines, and server/audit makes entries of requests.
//
// Start reading at Entry in entry.go.
package audit
