import type { Metadata, Viewport } from "next";
import localFont from "next/font/local";
import type { ReactNode } from "react";
import { SiteFooter } from "@/components/ui/site-footer";
import { SiteHeader } from "@/components/ui/site-header";
import { serverEnv } from "@/lib/server/env";
import "./globals.css";

const sans = localFont({
  src: [
    {
      path: "../node_modules/@fontsource-variable/ibm-plex-sans/files/ibm-plex-sans-latin-wght-normal.woff2",
      weight: "100 700",
      style: "normal",
    },
  ],
  variable: "--font-plex-sans",
  display: "swap",
});

const mono = localFont({
  src: [
    {
      path: "../node_modules/@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-400-normal.woff2",
      weight: "400",
      style: "normal",
    },
    {
      path: "../node_modules/@fontsource/ibm-plex-mono/files/ibm-plex-mono-latin-500-normal.woff2",
      weight: "500",
      style: "normal",
    },
  ],
  variable: "--font-plex-mono",
  display: "swap",
  preload: false,
});

const address = serverEnv().siteUrl;

export const metadata: Metadata = {
  ...(address ? { metadataBase: new URL(address) } : {}),
  alternates: { types: { "application/atom+xml": [{ url: "/feed.xml", title: "New and changed results" }] } },
  title: { default: "InfraDev: coding agents on multi-GPU infrastructure", template: "%s · InfraDev" },
  description:
    "Benchmark of coding agents on real changes to multi-GPU training, inference and reinforcement-learning code, with signed evidence behind every number.",
};

export const viewport: Viewport = {
  colorScheme: "light dark",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#fbfaf6" },
    { media: "(prefers-color-scheme: dark)", color: "#121416" },
  ],
};

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    // `site.js` sets data attributes on this element before React sees it
    <html lang="en" className={`${sans.variable} ${mono.variable}`} suppressHydrationWarning>
      <head>
        {/* blocking on purpose: a theme that arrives after the first paint flashes */}
        <script src="/site.js" />
      </head>
      <body>
        <a className="skip-link" href="#content">
          Skip to content
        </a>
        <SiteHeader />
        <main id="content" tabIndex={-1}>
          {children}
        </main>
        <SiteFooter />
      </body>
    </html>
  );
}
