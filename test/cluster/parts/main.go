// Command kubernetes is the control plane that tests join, with the server that
// reads nodes' metrics and the client that tests use: several programs that share
// most of their code, in one. The name by which it is called says which it is.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	metrics "sigs.k8s.io/metrics-server/cmd/metrics-server/app"

	_ "k8s.io/component-base/logs/json/register"
)

func main() { os.Exit(run(filepath.Base(os.Args[0]))) }

func run(name string) int {
	programs := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":                 kubectl.NewDefaultKubectlCommand,
		"metrics-server":          func() *cobra.Command { return metrics.NewMetricsServerCommand(server.SetupSignalHandler()) },
	}
	program, ok := programs[name]
	switch {
	case !ok:
		fmt.Fprintf(os.Stderr, "%s: there is no program of that name here\n", name)
		return 2
	case name == "kubectl":
		util.CheckErr(cli.RunNoErrOutput(program())) // which says it in kubectl's words
		return 0
	}
	return cli.Run(program())
}
