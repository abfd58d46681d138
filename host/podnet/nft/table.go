package nft

import "github.com/google/nftables"

// Family is the kind of packets that a table sees.
type Family = nftables.TableFamily

// Families of tables.
const (
	Inet   = nftables.TableFamilyINet   // packets of IPv4 and IPv6 that the host sends, receives or routes
	Bridge = nftables.TableFamilyBridge // frames on bridges
)

// Table is a table with all that it holds.
type Table struct {
	Family Family
	Name   string
	Sets   []Set
	Chains []Chain
}

// Chain is a list of rules. Packets come to it at its Hook, or from a rule of another chain if it has none. A packet
// that meets no verdict is accepted: a chain that drops the rest ends with a rule for that. If that were the policy of
// the chain, the kernel would drop packets while it is still reading the rules.
type Chain struct {
	Name  string
	Hook  *Hook
	Rules []Rule
}

// Hook tells when packets come to a chain.
type Hook struct {
	kind     nftables.ChainType
	point    *nftables.ChainHook
	priority *nftables.ChainPriority
	words    string
}

// Hooks of chains.
var (
	Arrives = &Hook{nftables.ChainTypeFilter, nftables.ChainHookPrerouting, nftables.ChainPriorityRaw, "filter prerouting"}
	Passes  = &Hook{nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter, "filter forward"}
	Enters  = &Hook{nftables.ChainTypeFilter, nftables.ChainHookInput, nftables.ChainPriorityFilter, "filter input"}
	Begins  = &Hook{nftables.ChainTypeFilter, nftables.ChainHookOutput, nftables.ChainPriorityFilter, "filter output"}
	Leaves  = &Hook{nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource, "nat postrouting"}
)

// Set is a set of keys, or a map from keys to chains.
type Set struct {
	Name   string
	Fields []Field
	Keys   []Key
	Ranges bool // keys are ranges of the one field; they are sorted and do not touch
	Map    bool
}

// Key is an element of a set.
type Key struct {
	Values [][]byte // one for each field of the set
	Last   []byte   // of a range, whose first is in Values
	Chain  string   // of a map
}

// Rule holds conditions, and what happens to packets that match all of them.
type Rule struct {
	If []Match
	Do Verdict
}

// Match is a condition on a packet.
type Match struct {
	fields []Field
	set    string // holds the fields, or else:
	value  []byte // the one field is equal to it
	last   []byte // or lies between value and last
	bits   int    // or has this many bits of value in front
	flags  uint32 // or has one of these flags
	not    bool
}

// Is matches packets with a value in a field.
func Is(f Field, value []byte) Match { return Match{fields: []Field{f}, value: value} }

// Between matches packets with a value between two others, both included.
func Between(f Field, first, last []byte) Match {
	return Match{fields: []Field{f}, value: first, last: last}
}

// Within matches packets with a value that has some bits in front.
func Within(f Field, value []byte, bits int) Match {
	return Match{fields: []Field{f}, value: value, bits: bits}
}

// Has matches packets with one of some flags in a field.
func Has(f Field, flags uint32) Match { return Match{fields: []Field{f}, flags: flags} }

// In matches packets whose fields are in a set together.
func In(set string, fields ...Field) Match { return Match{fields: fields, set: set} }

// Not matches the packets that m does not match, but for those that do not have its fields.
func Not(m Match) Match {
	m.not = !m.not
	return m
}

// Verdict says what happens to a packet.
type Verdict struct {
	kind   kind
	chain  string
	fields []Field
	set    string
	card   []byte
}

type kind int

const (
	accept kind = iota
	drop
	jump
	masquerade
	reset
	toChain
	toCard
)

// Accept lets a packet go on to the tables of others.
func Accept() Verdict { return Verdict{kind: accept} }

// Drop drops a packet.
func Drop() Verdict { return Verdict{kind: drop} }

// Jump goes on in a chain, and comes back from its end.
func Jump(chain string) Verdict { return Verdict{kind: jump, chain: chain} }

// Masquerade gives a packet the host's address.
func Masquerade() Verdict { return Verdict{kind: masquerade} }

// Reset answers a packet of TCP with a reset.
func Reset() Verdict { return Verdict{kind: reset} }

// Choose jumps to the chain that a map has for a packet's fields, if it has one.
func Choose(set string, fields ...Field) Verdict {
	return Verdict{kind: toChain, set: set, fields: fields}
}

// ToCard sends a frame up to the host, as if it had been sent to the host's card. The next rule follows.
func ToCard(card []byte) Verdict { return Verdict{kind: toCard, card: card} }
