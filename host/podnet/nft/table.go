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
	Arrives     = &Hook{nftables.ChainTypeFilter, nftables.ChainHookPrerouting, nftables.ChainPriorityRaw, "filter prerouting"}
	Passes      = &Hook{nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter, "filter forward"}
	PassesLater = &Hook{nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityRef(1), "filter forward later"}
	Enters      = &Hook{nftables.ChainTypeFilter, nftables.ChainHookInput, nftables.ChainPriorityFilter, "filter input"}
	Begins      = &Hook{nftables.ChainTypeFilter, nftables.ChainHookOutput, nftables.ChainPriorityFilter, "filter output"}
	Translates  = &Hook{nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest, "nat prerouting"}
	Addresses   = &Hook{nftables.ChainTypeNAT, nftables.ChainHookOutput, nftables.ChainPriorityNATDest, "nat output"}
	Leaves      = &Hook{nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource, "nat postrouting"}
)

// Set is a set of keys, or a map from keys to chains or to values.
type Set struct {
	Name   string
	Fields []Field
	Keys   []Key
	Ranges bool // keys are ranges of the one field; they are sorted and do not touch
	Map    bool
	To     []Field // what a map leads to; chains if it is empty
}

// Key is an element of a set.
type Key struct {
	Values [][]byte // one for each field of the set
	Last   []byte   // of a range, whose first is in Values
	Chain  string   // of a map
	To     [][]byte // of a map to values, one for each field
}

// Rule holds conditions, and what happens to packets that match all of them.
type Rule struct {
	If []Match
	Do Verdict
}

// Match is a condition on a packet. It is made by one of the functions below.
type Match struct {
	Fields []Field
	Set    string // holds the fields, or else:
	Value  []byte // the one field is equal to it
	Last   []byte // or lies between Value and Last
	Bits   int    // or has this many bits of Value in front
	Flags  uint32 // or has one of these flags
	Not    bool
}

// Is matches packets with a value in a field.
func Is(f Field, value []byte) Match { return Match{Fields: []Field{f}, Value: value} }

// Between matches packets with a value between two others, both included.
func Between(f Field, first, last []byte) Match {
	return Match{Fields: []Field{f}, Value: first, Last: last}
}

// Within matches packets with a value that has some bits in front.
func Within(f Field, value []byte, bits int) Match {
	return Match{Fields: []Field{f}, Value: value, Bits: bits}
}

// Has matches packets with one of some flags in a field.
func Has(f Field, flags uint32) Match { return Match{Fields: []Field{f}, Flags: flags} }

// In matches packets whose fields are in a set together.
func In(set string, fields ...Field) Match { return Match{Fields: fields, Set: set} }

// Not matches the packets that m does not match, but for those that do not have its fields.
func Not(m Match) Match {
	m.Not = !m.Not
	return m
}

// Verdict says what happens to a packet. It is made by one of the functions below.
type Verdict struct {
	Kind   Kind
	Chain  string
	Fields []Field
	Set    string
	Card   []byte
	Flags  uint32
	Choice Choice
}

// Choice is a choice among the keys of a map to addresses and ports, which are numbers here.
type Choice struct {
	First, Count uint32
	BySource     bool // packets of one source go to the same one; by chance otherwise
}

// Kind is a kind of verdict.
type Kind int

// Kinds of verdicts.
const (
	ToAccept Kind = iota
	ToDrop
	ToJump
	ToMasquerade
	ToReset
	ToChosen
	ToHost
	ToMarked
	ToRefused
	ToBackend
)

// Accept lets a packet go on to the tables of others.
func Accept() Verdict { return Verdict{Kind: ToAccept} }

// Drop drops a packet.
func Drop() Verdict { return Verdict{Kind: ToDrop} }

// Jump goes on in a chain, and comes back from its end.
func Jump(chain string) Verdict { return Verdict{Kind: ToJump, Chain: chain} }

// Masquerade gives a packet the host's address.
func Masquerade() Verdict { return Verdict{Kind: ToMasquerade} }

// Reset answers a packet of TCP with a reset.
func Reset() Verdict { return Verdict{Kind: ToReset} }

// Refuse answers any packet as a port does that is not open.
func Refuse() Verdict { return Verdict{Kind: ToRefused} }

// Backend sends a connection to one of the addresses of a map.
func Backend(set string, among Choice) Verdict {
	return Verdict{Kind: ToBackend, Set: set, Choice: among}
}

// Choose jumps to the chain that a map has for a packet's fields, if it has one.
func Choose(set string, fields ...Field) Verdict {
	return Verdict{Kind: ToChosen, Set: set, Fields: fields}
}

// ToCard sends a frame up to the host, as if it had been sent to the host's card. The next rule follows.
func ToCard(card []byte) Verdict { return Verdict{Kind: ToHost, Card: card} }

// Flag gives a packet flags of the field Mark. The next rule follows.
func Flag(flags uint32) Verdict { return Verdict{Kind: ToMarked, Flags: flags} }
