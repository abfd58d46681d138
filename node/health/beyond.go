package health

import "fmt"

// Beyond is a threshold that asks for as much as the node has, or more. The end of pods would never meet it, so no pod ends
// for it.
type Beyond struct {
	Rule
	Capacity int64
	Reclaim  bool // not the threshold itself, but with its minimum reclaim
}

// Split tells the rules that can hold on the node of a reading from those that never can. A minimum reclaim that can never
// be left is taken off its rule. A signal that could not be read says nothing about its rules.
func Split(rules []Rule, r Reading) (can []Rule, never []Beyond) {
	for _, rule := range rules {
		s, read := r.Signal(rule.Signal)
		least, more := rule.Least.amount(s.Capacity), rule.Reclaim.amount(s.Capacity)
		switch {
		case !read || s.Capacity == 0 || least+more < s.Capacity:
			can = append(can, rule)
		case least < s.Capacity:
			never = append(never, Beyond{rule, s.Capacity, true})
			rule.Reclaim = Threshold{}
			can = append(can, rule)
		default:
			never = append(never, Beyond{rule, s.Capacity, false})
		}
	}
	return can, never
}

// Setting returns the entry of the configuration that asks for too much.
func (b Beyond) Setting() string {
	setting, signal := "evictionHard", b.Signal
	switch {
	case b.Reclaim:
		setting = "evictionMinimumReclaim"
	case b.Grace > 0:
		setting = "evictionSoft"
	}
	if signal == AllocatableMemoryAvailable {
		signal = MemoryAvailable
	}
	return fmt.Sprintf("%s[%s]", setting, signal)
}

// Problem says what is wrong.
func (b Beyond) Problem() string {
	of, least := Lacks(b.Signal), b.Least.amount(b.Capacity)
	if b.Reclaim {
		least += b.Rule.Reclaim.amount(b.Capacity)
	}
	has := "the node has"
	if b.Signal == AllocatableMemoryAvailable {
		has = "all pods together may use"
	}
	return fmt.Sprintf("has no effect: %s would have to be left, and %s %s", Amount(of, least), has, Amount(of, b.Capacity))
}

// Remedy says what to do.
func (Beyond) Remedy() string { return "lower it" }

func (b Beyond) String() string { return b.Setting() + ": " + b.Problem() }
