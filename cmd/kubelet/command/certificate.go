package command

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
)

const certificateUsage = `Usage:
  kubelet certificate list [flags]            list the client certificates that the node has issued or revoked
  kubelet certificate revoke [flags] SERIAL   revoke a client certificate for good and end what it has opened

The serial number is hexadecimal: openssl x509 -noout -serial -in FILE.

Flags:
`

// runCertificate runs the command that the words after "certificate" name.
func runCertificate(args []string, c Console) int {
	flags := pflag.NewFlagSet("certificate", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, certificateUsage, flags.FlagUsages()) }
	socket := flags.String("socket", config.DefaultSocket, "unix socket `path` of the node API")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	words := flags.Args()
	var do func(context.Context, nodev1.CertificatesServiceClient) error
	switch {
	case len(words) == 0:
		return misused(flags, c, errors.New("command missing: want list or revoke"))
	case words[0] == "list" && len(words) == 1:
		do = func(ctx context.Context, client nodev1.CertificatesServiceClient) error {
			return listCertificates(ctx, client, c)
		}
	case words[0] == "revoke" && len(words) == 2:
		do = func(ctx context.Context, client nodev1.CertificatesServiceClient) error {
			return revokeCertificate(ctx, client, words[1], c)
		}
	case words[0] == "revoke":
		return misused(flags, c, fmt.Errorf("want one SERIAL for revoke, got %d", len(words)-1))
	case words[0] == "list":
		return misused(flags, c, noMore(words[1:]))
	default:
		return misused(flags, c, fmt.Errorf("unknown command %q", words[0]))
	}
	return askNode("certificate", *socket, c, func(ctx context.Context, conn *nodeConn) error {
		return do(ctx, nodev1.NewCertificatesServiceClient(conn))
	})
}

func listCertificates(ctx context.Context, client nodev1.CertificatesServiceClient, c Console) error {
	reply, err := client.ListCertificates(ctx, &nodev1.ListCertificatesRequest{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SERIAL\tNAME\tROLE\tEXPIRES\tREVOKED\tBY")
	for _, one := range reply.GetCertificates() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", one.GetSerial(), orDash(one.GetName()), orDash(one.GetRole()),
			localTime(one.GetExpiresAt(), "-"), localTime(one.GetRevokedAt(), "-"), orDash(one.GetRevokedBy()))
	}
	return table.Flush()
}

func revokeCertificate(ctx context.Context, client nodev1.CertificatesServiceClient, serial string, c Console) error {
	reply, err := client.RevokeCertificate(ctx, &nodev1.RevokeCertificateRequest{Serial: serial})
	if err != nil {
		return err
	}
	revoked := reply.GetCertificate()
	known := fmt.Sprintf("%q, %s", revoked.GetName(), revoked.GetRole())
	if revoked.GetName() == "" {
		known = "the node has not issued it, as far as it knows"
	}
	fmt.Fprintf(c.Out, "revoked %s (%s)\n", revoked.GetSerial(), known)
	return nil
}
