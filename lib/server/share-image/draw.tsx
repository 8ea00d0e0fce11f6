import "server-only";
import { ImageResponse } from "next/og";
import type { ShareCard, ShareRow } from "@/lib/prepare/share-card";
import { cut, drawable, drawableName, imageFontFamily, imageFonts } from "./fonts";

/** Size of every share image, in pixels. */
export const shareImageSize = { width: 1200, height: 630 } as const;

/** The light theme's colours, as in globals.css. */
const colors = {
  ground: "#fbfaf6",
  ink: "#1a1c1f",
  muted: "#5c6066",
  rule: "#e2dfd6",
  track: "#eae7dd",
  fill: "#2c7f8b",
  amber: "#b7791f",
};

const margin = 64;
const barWidth = 430;
/** Advance of the monospaced face, in its size. */
const advance = 0.6;

function Bar({ pct, interval, tone }: Pick<ShareRow, "pct" | "interval" | "tone">) {
  const x = (value: number) => Math.round((barWidth * value) / 100);
  return (
    <div style={{ display: "flex", position: "relative", width: barWidth, height: 22 }}>
      {pct === null ? null : (
        <>
          <div
            style={{
              position: "absolute",
              top: 3,
              left: 0,
              width: barWidth,
              height: 16,
              backgroundColor: colors.track,
            }}
          />
          <div
            style={{
              position: "absolute",
              top: 3,
              left: 0,
              width: x(pct),
              height: 16,
              backgroundColor: tone === "rejected" ? colors.amber : colors.fill,
            }}
          />
        </>
      )}
      {interval ? (
        <div
          style={{
            position: "absolute",
            top: 10,
            left: x(interval[0]),
            width: x(interval[1]) - x(interval[0]),
            height: 2,
            backgroundColor: colors.ink,
          }}
        />
      ) : null}
    </div>
  );
}

/** The card as a PNG of `shareImageSize`. Nothing is fetched: what the fonts lack is replaced before it is drawn. */
export async function drawShareImage(card: ShareCard): Promise<Uint8Array<ArrayBuffer>> {
  const { fonts, covered } = imageFonts();
  const text = (words: string, size: number, width: number, lines = 1) =>
    cut(drawable(words, covered), Math.floor((width / (size * advance)) * lines) - (lines > 1 ? 6 : 0));
  const inner = shareImageSize.width - 2 * margin;
  const figureWidth = Math.max(...card.rows.map(({ figure }) => figure.length), 0) * 24 * advance + 28;
  const labelWidth = inner - barWidth - figureWidth;
  const headlineSize = [...card.headline].length > 60 ? 40 : 50;
  const response = new ImageResponse(
    <div
      style={{
        display: "flex",
        flexDirection: "column",
        width: "100%",
        height: "100%",
        padding: `52px ${margin}px 44px`,
        backgroundColor: colors.ground,
        color: colors.ink,
        fontFamily: imageFontFamily,
      }}
    >
      <div style={{ display: "flex", fontSize: 24, color: colors.muted }}>{text(card.kicker, 24, inner)}</div>
      <div
        style={{
          display: "flex",
          marginTop: 14,
          fontSize: headlineSize,
          fontWeight: 600,
          lineHeight: 1.2,
          letterSpacing: "-0.03em",
          wordBreak: "break-word",
        }}
      >
        {text(card.headline, headlineSize, inner, 3)}
      </div>
      <div style={{ display: "flex", flexDirection: "column", marginTop: "auto" }}>
        {card.rows.map((row) => (
          <div
            key={`${row.plainLabel} ${row.figure}`}
            style={{
              display: "flex",
              alignItems: "center",
              height: 44,
              borderTop: `1px solid ${colors.rule}`,
              fontSize: 24,
            }}
          >
            <div style={{ display: "flex", width: labelWidth }}>
              {text(drawableName(row.label, row.plainLabel, covered), 24, labelWidth - 12)}
            </div>
            <div
              style={{
                display: "flex",
                width: figureWidth,
                justifyContent: "flex-end",
                paddingRight: 28,
                fontWeight: 600,
              }}
            >
              {text(row.figure, 24, figureWidth)}
            </div>
            <Bar pct={row.pct} interval={row.interval} tone={row.tone} />
          </div>
        ))}
      </div>
      <div
        style={{
          display: "flex",
          justifyContent: "space-between",
          borderTop: `2px solid ${colors.ink}`,
          paddingTop: 14,
          fontSize: 20,
          color: colors.muted,
        }}
      >
        <div style={{ display: "flex" }}>{text(card.foot, 20, inner - 130)}</div>
        <div style={{ display: "flex", fontWeight: 600, color: colors.ink }}>InfraDev</div>
      </div>
    </div>,
    { ...shareImageSize, fonts },
  );
  return new Uint8Array(await response.arrayBuffer());
}
