package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"larder/internal/apikey"
)

// preset holds the values of a key for a kind of client.
type preset struct {
	permissions, protocols []string
	path                   string
}

var presets = map[string]preset{
	"":       {[]string{"read", "write"}, []string{"api"}, "/uploads"},
	"picgo":  {[]string{"read", "write"}, []string{"api"}, "/uploads/{year}/{month}"},
	"sharex": {[]string{"read", "write"}, []string{"api"}, "/uploads/{year}/{month}"},
	"curl":   {[]string{"read", "write"}, []string{"api"}, "/uploads"},
	"webdav": {[]string{"read", "write", "delete"}, []string{"webdav"}, ""},
}

// keyCreate is the command `larder key create`: it makes an API key for an account. It prints the
// key, and on request the configuration of a client. Only these go to out, so that the output can
// be written into the client's file. Messages for the user go to errs.
func keyCreate(ctx context.Context, args, environ []string, out, errs io.Writer) (err error) {
	own := flag.NewFlagSet("key create", flag.ContinueOnError)
	client := own.String("for", "", "picgo, sharex, curl or webdav: print a ready configuration")
	path := own.String("path", "", "upload path, may hold placeholders such as {year}/{month}")
	name := own.String("name", "", "name of the key")
	a, username, err := openForName(ctx, args, environ, own, out, errs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	p, known := presets[*client]
	if !known {
		return fmt.Errorf("larder: --for %q: must be picgo, sharex, curl or webdav: %w", *client, errUsage)
	}
	base := a.BaseURL
	if base == "" { // with port 0
		return fmt.Errorf("larder: the port is chosen at start: give the address that clients use with --base-url: %w",
			errUsage)
	}
	user, err := accountNamed(ctx, a, username)
	if err != nil {
		return err
	}
	if *path != "" {
		p.path = *path
	}
	if p.path == "" { // a WebDAV drive begins at the user's default folder
		p.path = user.DefaultPath
	}
	if *name == "" {
		*name = strings.TrimSpace("command line " + *client)
	}
	key, secret, err := a.Keys.Create(ctx, user.ID,
		apikey.NewKey{Name: *name, Permissions: p.permissions, Protocols: p.protocols, UploadPath: p.path})
	if err != nil {
		return err
	}
	fmt.Fprintf(errs, "Created the key %s of %s: %s by %s, uploading to %s. Its secret is shown only once.\n",
		key.ID, user.Username, strings.Join(key.Permissions, " and "), strings.Join(key.Protocols, " and "),
		key.UploadPath)
	return printKey(out, *client, base, key, secret.Reveal())
}

// printKey prints the key with its secret, in the configuration format of client (picgo, sharex,
// curl, webdav; "" for the key alone), like the web UI (web/src/lib/clients). base is the address
// of the service.
func printKey(out io.Writer, client, base string, key apikey.Key, secret string) error {
	bearer := "Bearer " + key.ID + "." + secret
	var document any
	switch client {
	case "picgo":
		header, err := json.Marshal(map[string]string{"Authorization": bearer})
		if err != nil {
			return err
		}
		body, err := json.Marshal(map[string]string{"path": key.UploadPath})
		if err != nil {
			return err
		}
		document = map[string]any{
			"picBed": map[string]any{
				"current": "web-uploader", "uploader": "web-uploader",
				"web-uploader": map[string]any{
					"url": base + "/api/upload", "paramName": "file", "jsonPath": "data.links.url",
					"customHeader": string(header), "customBody": string(body),
				},
			},
			"picgoPlugins": map[string]any{"picgo-plugin-web-uploader": true},
		}
	case "sharex":
		document = map[string]any{
			"Version": "15.0.0", "Name": "Larder", "DestinationType": "ImageUploader, TextUploader, FileUploader",
			"RequestMethod": "POST",
			"RequestURL":    base + "/api/upload", "Headers": map[string]string{"Authorization": bearer},
			"Body": "MultipartFormData", "FileFormName": "file",
			"URL": "{json:data.links.url}", "ErrorMessage": "{json:error.message}",
		}
	case "curl":
		_, err := fmt.Fprintf(out, "curl -fsS -H 'Authorization: %s' -F file=@picture.jpg %s/api/upload\n", bearer,
			base)
		return err
	case "webdav":
		_, err := fmt.Fprintf(out, "address   %s/webdav\nuser name %s\npassword  %s\n", base, key.ID, secret)
		return err
	default:
		_, err := fmt.Fprintf(out, "%s.%s\n", key.ID, secret)
		return err
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
