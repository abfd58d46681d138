package client

// Verbs returns the verbs of the day, in the order in which help lists them.
func Verbs() []Verb {
	return []Verb{
		getVerb(), describeVerb(), eventsVerb(),
		applyVerb(), planVerb(), diffVerb(), deleteVerb(), restartVerb(), waitVerb(),
		logsVerb(), execVerb(), attachVerb(), forwardVerb(), cpVerb(),
		topVerb(), timelineVerb(), imagesVerb(), cordonVerb(), uncordonVerb(), contextVerb(), completionVerb(),
	}
}
